/* submit_many.c - many jobs, none of which waits for the answer to another. */
#include <string.h>

#include "producer/client/draft.h"

/* Jobs in one of both forms, and what becomes of each. */
struct batch {
    struct quern *quern;
    const struct quern_job *jobs;
    const char *const *texts; /* JSON; NULL: jobs */
    struct quern_submitted *submitted;
    struct draft draft; /* of the call that is being sent */
};

static bool read_draft(struct batch *batch, size_t index, struct err *err)
{
    const struct quern_id *id = &batch->submitted[index].id;

    draft_finish(&batch->draft);
    if (batch->texts)
        return draft_read_json(&batch->draft, batch->quern, batch->texts[index],
                               NULL, 0, id, err);
    return draft_read(&batch->draft, batch->quern, &batch->jobs[index], id,
                      err);
}

/* existed holds until the answer whether the id was the caller's: only then may
 * a job of that id have been there before. */
static bool ask(void *owner, size_t index, struct command *command,
                unsigned int *partition)
{
    struct batch *batch = owner;
    struct quern_submitted *submitted = &batch->submitted[index];
    struct err err = { 0 };

    if (!read_draft(batch, index, &err)) {
        handle_fail(&submitted->error, &err);
        return false;
    }
    submitted->id = batch->draft.id;
    submitted->existed = !batch->draft.fresh;
    *partition = 0;
    id_parse(view_of(submitted->id.text), partition);
    draft_command(command, batch->quern, &batch->draft);
    return true;
}

static void answer(void *owner, size_t index, const redisReply *reply)
{
    const struct batch *batch = owner;
    struct quern_submitted *submitted = &batch->submitted[index];
    struct err err = { 0 };

    if (!draft_submitted(reply, !submitted->existed, &submitted->id,
                         &submitted->existed, &err))
        handle_fail(&submitted->error, &err);
}

static bool has_files(const struct batch *batch, size_t index)
{
    return batch->jobs && batch->jobs[index].file_count > 0;
}

/* Jobs from one index to another, of which none has files to be written first.
 * False: those from *done on have no answer. */
static bool submit_run(const struct batch *whole, size_t from, size_t to,
                       size_t *done, struct err *err)
{
    struct batch batch = {
        .quern = whole->quern,
        .jobs = whole->jobs ? whole->jobs + from : NULL,
        .texts = whole->texts ? whole->texts + from : NULL,
        .submitted = whole->submitted + from,
    };
    const struct pipeline pipeline = { ask, answer, &batch, to - from };
    bool ok = handle_pipeline(batch.quern, &pipeline, done, err);

    draft_finish(&batch.draft);
    *done += from;
    return ok;
}

/* The same of one that has. A refusal is its own affair; false: Redis is away.
 */
static bool submit_one(const struct batch *batch, size_t index, struct err *err)
{
    struct quern_submitted *one = &batch->submitted[index];

    if (quern_submit(batch->quern, &batch->jobs[index], &one->id, &one->existed,
                     &one->error) ||
        (strcmp(one->error.code, "redis_unavailable") != 0 &&
         strcmp(one->error.code, "unknown_outcome") != 0))
        return true;
    return err_set(err, ERR_RETRY, one->error.code, "%s", one->error.text);
}

static bool submit_each(const struct batch *batch, size_t count, size_t *done,
                        struct err *err)
{
    while (*done < count) {
        size_t end = *done;

        while (end < count && !has_files(batch, end))
            end++;
        if (!submit_run(batch, *done, end, done, err))
            return false;
        if (end < count && !submit_one(batch, end++, err))
            return false;
        *done = end;
    }
    return true;
}

static bool submit_all(const struct batch *batch, size_t count,
                       struct quern_error *error)
{
    struct quern_submitted *submitted = batch->submitted;
    struct err err = { 0 };
    unsigned int partitions;
    size_t done = 0;

    for (size_t i = 0; i < count; i++)
        submitted[i] = (struct quern_submitted){ 0 };
    /* Once: each of them would wait for a Redis that is away. */
    if (!handle_partitions(batch->quern, &partitions, &err) ||
        !submit_each(batch, count, &done, &err))
        for (size_t i = done; i < count; i++)
            if (submitted[i].error.kind == 0)
                handle_fail(&submitted[i].error, &err);
    for (size_t i = 0; i < count; i++)
        if (submitted[i].error.kind != 0) {
            if (error)
                *error = submitted[i].error;
            return false;
        }
    return true;
}

bool quern_submit_many(struct quern *quern, const struct quern_job *jobs,
                       size_t count, struct quern_submitted *submitted,
                       struct quern_error *error)
{
    const struct batch batch = { .quern = quern,
                                 .jobs = jobs,
                                 .submitted = submitted };

    return submit_all(&batch, count, error);
}

bool quern_submit_many_json(struct quern *quern, const char *const *texts,
                            size_t count, struct quern_submitted *submitted,
                            struct quern_error *error)
{
    const struct batch batch = { .quern = quern,
                                 .texts = texts,
                                 .submitted = submitted };

    return submit_all(&batch, count, error);
}
