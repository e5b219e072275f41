/* facts.c - compares a job with its facts in Redis. */
#include "consumer/job/facts.h"

#include <inttypes.h>

struct facts facts_of(const struct take_reply *start, struct arena *arena)
{
    uint64_t deadline_at = start->deadline_at;

    return (struct facts){
        .queue = arena_copy(arena, start->queue),
        .priority = arena_copy(arena, start->priority),
        .tenant = arena_copy(arena, start->tenant),
        .session = arena_copy(arena, start->session),
        .deadline_ms = deadline_at > start->submitted_at
                           ? deadline_at - start->submitted_at
                           : 0,
        .now = start->now,
    };
}

static struct view or_default(struct view name)
{
    return name.len > 0 ? name : VIEW("default");
}

static bool check_names(const struct facts *facts, const struct job *job,
                        struct err *err)
{
    const struct {
        const char *name, *code;
        struct view said, given;
    } rows[] = {
        { "tenant", "tenant_mismatch", or_default(job->tenant), facts->tenant },
        { "queue", "queue_mismatch", or_default(job->queue), facts->queue },
        { "priority", "priority_mismatch",
          view_of(priority_names[job->priority]), facts->priority },
        { "session", "session_mismatch", job->session, facts->session },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!view_equal(rows[i].said, rows[i].given))
            return err_set(err, ERR_REJECT, rows[i].code,
                           "the job says %s \"%.*s\", it was submitted with "
                           "\"%.*s\"",
                           rows[i].name, VIEW_ARG(rows[i].said),
                           VIEW_ARG(rows[i].given));
    return true;
}

bool facts_match(const struct facts *facts, const struct job *job,
                 struct err *err)
{
    if (!check_names(facts, job, err))
        return false;
    if (job->limits.deadline_ms != facts->deadline_ms)
        return err_set(err, ERR_REJECT, "deadline_mismatch",
                       "the job says limits.deadline_ms %" PRIu64
                       ", it was submitted with %" PRIu64,
                       job->limits.deadline_ms, facts->deadline_ms);
    /* The take does not tell this fact, but when the job was started. */
    return job->not_before <= facts->now ||
           err_set(err, ERR_REJECT, "not_before_mismatch",
                   "the job says not_before %" PRIu64
                   ", it was submitted to start by %" PRIu64,
                   job->not_before, facts->now);
}
