/* submit_many.c - many jobs, none of which waits for the answer to another.
 *
 * Up to MANY jobs of one partition go in one call of the function library,
 * where the server has that function. Jobs are read when their call is made, so
 * memory holds a call's jobs and not all of them. Jobs with files are submitted
 * one by one: their blobs have to be there first. */
#include <string.h>

#include "producer/client/draft.h"

enum {
    MANY = 32, /* jobs in a call: more gain little, and while Redis runs the
                  call it serves nobody else */
    MANY_BYTES = 128 * 1024, /* then the call takes no further job */
    DRAFTS = MANY + 1,       /* the last one was read and found to be of another
                                partition: it is kept for the next call */
};

/* Jobs in one of both forms, and what becomes of each; the owner of the
 * pipeline. Lives for one run. */
struct batch {
    struct quern *quern;
    const struct quern_job *jobs;
    const char *const *texts; /* JSON; NULL: jobs */
    const struct quern_submit_options *options;
    struct quern_submit_outcome *submitted;
    size_t count;
    struct draft drafts[DRAFTS]; /* job i at i % DRAFTS: those of the call that
                                    is being made */
    size_t held[DRAFTS]; /* index + 1 of the job that each is of; 0: none */
};

static bool read_draft(struct batch *batch, struct draft *draft, size_t index,
                       struct err *err)
{
    const struct quern_id *id = &batch->submitted[index].id;

    draft_finish(draft);
    if (batch->texts) {
        bool read = draft_read_json(draft, batch->quern, batch->texts[index],
                                    batch->options, id, err);

        draft_note(draft, batch->submitted[index].note);
        return read;
    }
    return draft_read(draft, batch->quern, &batch->jobs[index], id, err);
}

/* The draft of the job, read when it is not the one that is held. NULL: it
 * cannot be submitted, and its error says why. Until the answer comes, existed
 * holds whether the id was the caller's, which draft_submitted() has to know:
 * only then may a job of that id have been there before. */
static const struct draft *draft_of(struct batch *batch, size_t index)
{
    struct draft *draft = &batch->drafts[index % DRAFTS];
    size_t *held = &batch->held[index % DRAFTS];
    struct quern_submit_outcome *submitted = &batch->submitted[index];
    struct err err = { 0 };

    submitted->error = (struct quern_error){ 0 };
    if (*held != index + 1) {
        *held = 0;
        if (!read_draft(batch, draft, index, &err)) {
            handle_fail(&submitted->error, &err);
            return NULL;
        }
        *held = index + 1;
    }
    submitted->id = draft->id;
    submitted->existed = !draft->fresh;
    return draft;
}

/* Collects jobs from index on that go to one partition, as many as one call
 * takes. *count: how many of the jobs this deals with, those that cannot be
 * submitted included. The first job decides the partition; one of another
 * partition ends the call. */
static size_t submit_many_gather(struct batch *batch, size_t index,
                                 struct submit *submits,
                                 unsigned int *partition, size_t *count)
{
    size_t end = index + MANY < batch->count ? index + MANY : batch->count;
    size_t most = MANY, bytes = 0, gathered = 0, at = index;

    for (; at < end && gathered < most && bytes < MANY_BYTES; at++) {
        const struct draft *draft = draft_of(batch, at);
        unsigned int its = 0;

        if (!draft)
            continue;
        id_parse(draft->submit.id, &its);
        if (gathered == 0) {
            *partition = its;
            most = handle_takes_many(batch->quern, its) ? MANY : 1;
        }
        if (its != *partition)
            break;
        bytes += draft->submit.body.len;
        submits[gathered++] = draft->submit;
    }
    *count = at - index;
    return gathered;
}

static bool submit_many_ask(void *owner, size_t index, struct command *command,
                            unsigned int *partition, size_t *count)
{
    struct batch *batch = owner;
    const struct names *names = &batch->quern->fleet->names;
    struct submit submits[MANY];
    size_t gathered =
        submit_many_gather(batch, index, submits, partition, count);

    if (gathered == 1)
        transition_submit(command, names, submits);
    else if (gathered > 1)
        transition_submit_many(command, names, *partition, submits, gathered);
    return gathered > 0;
}

static void submit_many_take_answer(struct quern_submit_outcome *submitted,
                                    const redisReply *reply)
{
    struct err err = { 0 };

    if (!draft_submitted(reply, !submitted->existed, &submitted->id,
                         &submitted->existed, &err))
        handle_fail(&submitted->error, &err);
}

/* Jobs that could not be read have an error and were not in the call: the
 * others are matched with the replies in order. A refusal of the whole call is
 * the error of each of them. */
static void submit_many_answer(void *owner, size_t index, size_t count,
                               const redisReply *reply)
{
    const struct batch *batch = owner;
    struct quern_submit_outcome *asked[MANY];
    struct err err = { 0 };
    size_t gathered = 0;

    for (size_t i = index; i < index + count; i++)
        if (batch->submitted[i].error.kind == 0)
            asked[gathered++] = &batch->submitted[i];
    bool each = gathered > 1 && reply->type != REDIS_REPLY_ERROR;
    bool fits = !each || transition_submitted_many(reply, gathered, &err);
    for (size_t i = 0; i < gathered; i++)
        if (fits)
            submit_many_take_answer(asked[i], each ? reply->element[i] : reply);
        else
            handle_fail(&asked[i]->error, &err);
}

static bool has_files(const struct batch *batch, size_t index)
{
    if (batch->jobs)
        return batch->jobs[index].file_count > 0;
    return batch->options && batch->options->file_count > 0;
}

/* Submits jobs [from, to), of which none has files, by one pipeline. False:
 * those from *done on have no answer. */
static bool submit_run(const struct batch *whole, size_t from, size_t to,
                       size_t *done, struct err *err)
{
    struct batch batch = {
        .quern = whole->quern,
        .jobs = whole->jobs ? whole->jobs + from : NULL,
        .texts = whole->texts ? whole->texts + from : NULL,
        .options = whole->options,
        .submitted = whole->submitted + from,
        .count = to - from,
    };
    const struct pipeline pipeline = { submit_many_ask, submit_many_answer,
                                       &batch, to - from };
    bool ok = handle_pipeline(batch.quern, &pipeline, done, err);

    for (size_t i = 0; i < DRAFTS; i++)
        draft_finish(&batch.drafts[i]);
    *done += from;
    return ok;
}

/* Submits one job that has files. A refusal concerns this job alone, and the
 * others go on; false: Redis is away, and they would all wait for it. */
static bool submit_one(const struct batch *batch, size_t index, struct err *err)
{
    struct quern_submit_outcome *one = &batch->submitted[index];
    bool stands = batch->jobs
                      ? quern_submit(batch->quern, &batch->jobs[index],
                                     &one->id, &one->existed, &one->error)
                      : quern_submit_json(batch->quern, batch->texts[index],
                                          batch->options, &one->id,
                                          &one->existed, &one->error);

    if (stands || (strcmp(one->error.code, "redis_unavailable") != 0 &&
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
    struct quern_submit_outcome *submitted = batch->submitted;
    struct err err = { 0 };
    unsigned int partitions;
    size_t done = 0;

    for (size_t i = 0; i < count; i++)
        submitted[i] = (struct quern_submit_outcome){ 0 };
    handle_ask_many_again(batch->quern);
    /* Asked once for all jobs: reading each job would ask, and wait for a Redis
     * that is away. */
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
                       size_t count, struct quern_submit_outcome *submitted,
                       struct quern_error *error)
{
    const struct batch batch = { .quern = quern,
                                 .jobs = jobs,
                                 .submitted = submitted };

    return submit_all(&batch, count, error);
}

bool quern_submit_many_json(struct quern *quern, const char *const *texts,
                            size_t count,
                            const struct quern_submit_options *options,
                            struct quern_submit_outcome *submitted,
                            struct quern_error *error)
{
    const struct batch batch = { .quern = quern,
                                 .texts = texts,
                                 .options = options,
                                 .submitted = submitted };

    return submit_all(&batch, count, error);
}
