/* operate.c - commands and replies of library/operate.lua and schedule.lua. */
#include "schemas/redis/operate.h"

#include "schemas/redis/conn.h"
#include "schemas/redis/step.h"

/* ---------------------------------------------------------- the dead */

static bool done_or_late(const redisReply *reply, const char *function,
                         const char *done, bool *late, struct err *err)
{
    const char *const words[] = { done, "late" };
    size_t word;

    if (!step_word(reply, function, words, 2, &word, err))
        return false;
    *late = word == 1;
    return true;
}

void transition_requeue(struct command *command, const struct names *names,
                        struct view id, bool anew, struct view ticket)
{
    step_begin_job(command, "quern_v1_requeue", names, id);
    command_add_text(command, anew ? "anew" : "");
    command_add(command, ticket);
}

bool transition_requeued(const redisReply *reply, bool *late, struct err *err)
{
    return done_or_late(reply, "requeue", "queued", late, err);
}

void transition_forget(struct command *command, const struct names *names,
                       unsigned int partition, struct view queue,
                       struct view id)
{
    step_begin(command, "quern_v1_forget", names, partition);
    command_add(command, queue);
    command_add(command, id);
}

void transition_remove(struct command *command, const struct names *names,
                       struct view id)
{
    step_begin_job(command, "quern_v1_remove", names, id);
}

bool transition_removed(const redisReply *reply, bool *late, struct err *err)
{
    return done_or_late(reply, "remove", "removed", late, err);
}

bool transition_forgotten(const redisReply *reply, bool *late, struct err *err)
{
    return done_or_late(reply, "forget", "forgotten", late, err);
}

/* ------------------------------------------------------------- queues */

void transition_purge(struct command *command, const struct names *names,
                      unsigned int partition, struct view queue, uint64_t count,
                      bool dry)
{
    step_begin(command, "quern_v1_purge", names, partition);
    command_add(command, queue);
    command_add_uint(command, count);
    command_add_text(command, dry ? "1" : "0");
}

bool transition_purged(const redisReply *reply, uint64_t *jobs, bool *more,
                       struct err *err)
{
    redisReply **part = step_expect(reply, "purge", 2, err);

    if (!part)
        return false;
    *jobs = step_uint(part[0]);
    *more = step_uint(part[1]);
    return true;
}

void transition_queue_set(struct command *command, const struct names *names,
                          unsigned int partition, struct view queue,
                          const struct queue_setting *settings, size_t count)
{
    step_begin(command, "quern_v1_queue_set", names, partition);
    command_add(command, queue);
    for (size_t i = 0; i < count; i++) {
        command_add(command, settings[i].name);
        command_add(command, settings[i].value);
    }
}

void transition_stats(struct command *command, const struct names *names,
                      unsigned int partition, struct view queue)
{
    step_begin(command, "quern_v1_stats", names, partition);
    command_add(command, queue);
}

bool transition_stated(const redisReply *reply, struct queue_stats *stats,
                       struct err *err)
{
    uint64_t paused = 0;
    const struct {
        const char *name;
        uint64_t *figure;
    } figures[] = {
        { "paused", &paused },
        { "ready", &stats->ready },
        { "running", &stats->running },
        { "lanes", &stats->lanes },
        { "tenants", &stats->tenants },
        { "scheduled", &stats->scheduled },
        { "dead", &stats->dead },
        { "oldest_ms", &stats->oldest_ms },
        { "budget", &stats->budget },
        { "endpoint", &stats->endpoint },
        { "waits_ms", &stats->waits_ms },
    };
    const size_t always = 10; /* what the oldest library says */
    const size_t count = sizeof(figures) / sizeof(figures[0]);

    if (!step_expect(reply, "stats", 2 * always, err))
        return false;
    *stats = (struct queue_stats){ 0 };
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        for (size_t j = 0; j < count; j++)
            if (view_is(step_text(reply->element[i]), figures[j].name))
                *figures[j].figure = step_uint(reply->element[i + 1]);
    stats->paused = paused;
    return true;
}

/* The same codes as OWN_FAULTS in library/ends.lua. */
bool transition_is_own_fault(struct view error_code)
{
    static const char *const codes[] = {
        "cell_failed",    "model_refused", "unknown_session",
        "session_exists", "unknown_file",
    };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (view_is(error_code, codes[i]))
            return true;
    return false;
}

void transition_drain(struct command *command, const struct names *names,
                      unsigned int partition, struct view consumer, bool drain)
{
    step_begin(command, "quern_v1_drain", names, partition);
    command_add(command, consumer);
    command_add_text(command, drain ? "1" : "0");
}

/* ---------------------------------------------------------- schedules */

void transition_schedule_set(struct command *command, const struct names *names,
                             unsigned int partition,
                             const struct schedule *schedule)
{
    step_begin(command, "quern_v1_schedule_set", names, partition);
    command_add(command, schedule->name);
    command_add(command, schedule->spec);
    command_add(command, schedule->zone);
    command_add_uint(command, schedule->next_at);
    step_add_pair(command, "job", schedule->job->body);
    step_add_submit(command, schedule->job);
}

void transition_schedule_pause(struct command *command,
                               const struct names *names,
                               unsigned int partition, struct view name,
                               bool pause, uint64_t next_at)
{
    step_begin(command, "quern_v1_schedule_pause", names, partition);
    command_add(command, name);
    command_add_text(command, pause ? "1" : "0");
    if (!pause)
        command_add_uint(command, next_at);
}

void transition_schedule_run(struct command *command, const struct names *names,
                             unsigned int partition, struct view name,
                             struct view id)
{
    step_begin(command, "quern_v1_schedule_run", names, partition);
    command_add(command, name);
    command_add(command, id);
}

void transition_schedule_rm(struct command *command, const struct names *names,
                            unsigned int partition, struct view name)
{
    step_begin(command, "quern_v1_schedule_rm", names, partition);
    command_add(command, name);
}

bool transition_schedule_removed(const redisReply *reply, bool *was,
                                 struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    *was = step_uint(reply);
    return true;
}
