/* followed_job.c - compares what was given of a job with what Redis has. */
#include "producer/client/followed_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/limits.h"
#include "schemas/message/result.h"

enum {
    PAGE = 64,          /* events read at once */
    ANSWER_HEAD = 4096, /* bytes of the answer in an end that is made here */
};

struct followed_job *followed_job_new(const struct names *names, struct view id,
                                      uint64_t after)
{
    struct followed_job *job = calloc(1, sizeof(*job));

    if (!job)
        abort();
    memcpy(job->id.text, id.data, id.len);
    const struct key events = names_events(names, id);

    job->events = view_dup(key_view(&events));
    job->last = after;
    buf_init(&job->made, MAX_EVENT_BYTES);
    return job;
}

void followed_job_drop_page(struct followed_job *job)
{
    cleanup_reply(&job->page);
    job->page = NULL;
    job->row = 0;
}

void followed_job_free(struct followed_job *job)
{
    if (!job)
        return;
    followed_job_drop_page(job);
    buf_finish(&job->made);
    arena_finish(&job->arena);
    free(job->events);
    free(job);
}

/* FNV-1a. After a failover Redis may give the number of a lost event to another
 * event: the hash tells the two apart. */
uint64_t followed_job_print(struct view bytes)
{
    uint64_t print = 0xcbf29ce484222325;

    for (size_t i = 0; i < bytes.len; i++)
        print = (print ^ (unsigned char)bytes.data[i]) * 0x100000001b3;
    return print == 0 ? 1 : print;
}

/* The last event that was given, as far as is known. */
static bool followed_job_is_last(const struct followed_job *job, uint64_t print)
{
    return job->print == 0 || job->print == print;
}

void followed_job_pass(struct followed_job *job, uint64_t seq, uint64_t print)
{
    job->last = seq;
    job->print = print;
}

enum followed_outcome followed_job_weigh(const struct followed_job *job,
                                         uint64_t seq, uint64_t print)
{
    if (seq > job->last + 1 ||
        (seq == job->last && !followed_job_is_last(job, print)))
        return FOLLOWED_AGAIN;
    return seq <= job->last ? FOLLOWED_QUIET : FOLLOWED_EVENT;
}

/* --- what is given ------------------------------------------------------- */

void followed_job_forget_event(struct followed_job *job)
{
    arena_finish(&job->arena);
    job->arena = (struct arena){ 0 };
}

static bool followed_decode(struct followed_job *job, struct view bytes,
                            struct event *event, struct err *err)
{
    followed_job_forget_event(job);
    return event_decode(event, bytes, &job->arena, err) ||
           err_prefix(err, "the event after %" PRIu64, job->last);
}

static void followed_job_fill(struct followed_job *job,
                              const struct event *event, struct view bytes,
                              struct quern_event *given)
{
    snprintf(job->type, sizeof(job->type), "%.*s", VIEW_ARG(event->type));
    *given = (struct quern_event){
        .job = job->id.text,
        .seq = event->seq,
        .from = event->seq,
        .at = event->at,
        .attempt = event->attempt,
        .type = job->type,
        .terminal = event_is_terminal(event->type),
        .bytes = bytes.data,
        .size = bytes.len,
    };
}

static enum followed_outcome followed_job_give(struct followed_job *job,
                                               const struct event *event,
                                               struct view bytes,
                                               struct quern_event *given)
{
    followed_job_pass(job, event->seq, followed_job_print(bytes));
    followed_job_fill(job, event, bytes, given);
    return FOLLOWED_EVENT;
}

static bool followed_job_make(struct followed_job *job,
                              const struct event *event, struct err *err)
{
    buf_clear(&job->made);
    return message_encode(&schema_event, event, &job->made, err);
}

/* Gives the gap from .. to; the next event to be given is the one after last.
 */
static enum followed_outcome give_gap(struct followed_job *job, uint64_t from,
                                      uint64_t to, uint64_t last,
                                      struct quern_event *given,
                                      struct err *err)
{
    const struct event gap = {
        .seq = to,
        .type = view_of("gap"),
        .data = { .from = from, .to = to },
    };

    if (!followed_job_make(job, &gap, err))
        return FOLLOWED_FAILED;
    job->last = last;
    job->print = 0;
    followed_job_fill(job, &gap, buf_view(&job->made), given);
    given->from = from;
    return FOLLOWED_GAP;
}

/* Redis has other events under the numbers that were given: it has lost some in
 * a failover. A gap over all that was given tells the caller to forget it; then
 * the job's events come again from the first. */
static enum followed_outcome give_up(struct followed_job *job,
                                     struct quern_event *given, struct err *err)
{
    followed_job_drop_page(job);
    return give_gap(job, 1, job->last, 0, given, err);
}

/* --- the stream, page by page -------------------------------------------- */

static bool has_row(const struct followed_job *job)
{
    return job->page && job->row < job->page->elements;
}

/* From the last event that was given, not from the one after it: it must still
 * be the same one. */
void followed_job_ask_page(struct command *command,
                           const struct followed_job *job, unsigned int rows)
{
    char start[32];

    snprintf(start, sizeof(start), "%" PRIu64 "-0", job->last);
    command_init(command, "XRANGE");
    command_add(command, view_of(job->events));
    command_add_copy(command, view_of(start));
    command_add_text(command, "+");
    command_add_text(command, "COUNT");
    command_add_uint(command, rows);
}

static redisReply *followed_job_call_page(const struct followed_job *job,
                                          struct quern *quern, struct err *err)
{
    struct command command;

    followed_job_ask_page(&command, job, PAGE);
    redisReply *page =
        handle_call_job(quern, view_of(job->id.text), &command, err);
    command_finish(&command);
    return page;
}

/* Passes over the last event that was given, if the page begins with it, and
 * says whether it is still the same. True when it is no longer there: streams
 * are trimmed. */
static bool still_stands(struct followed_job *job)
{
    const redisReply *entry = has_row(job) ? job->page->element[0] : NULL;
    struct view bytes = entry ? entry_event(entry) : (struct view){ 0 };

    if (bytes.len == 0 ||
        strtoull(entry->element[0]->str, NULL, 10) > job->last)
        return true;
    job->row = 1;
    return followed_job_is_last(job, followed_job_print(bytes));
}

static enum followed_outcome
give_row(struct followed_job *job, struct quern_event *given, struct err *err)
{
    struct view bytes = entry_event(job->page->element[job->row]);
    struct event event;

    if (!followed_decode(job, bytes, &event, err))
        return FOLLOWED_FAILED;
    if (event.seq > job->last + 1)
        return give_gap(job, job->last + 1, event.seq - 1, event.seq - 1, given,
                        err);
    job->row++;
    return event.seq <= job->last
               ? FOLLOWED_AGAIN
               : followed_job_give(job, &event, bytes, given);
}

/* --- what is known beside the stream ------------------------------------- */

/* A login that may read events only (a dashboard's) may not read the job's
 * status: then *known is false, and the end of the job is known by its event
 * alone. */
static bool read_status(struct followed_job *job, struct quern *quern,
                        struct quern_status *status, bool *known,
                        struct err *err)
{
    *known = status_read(quern, view_of(job->id.text), false, status, err);
    return *known || strcmp(err->code, "redis_refused") == 0;
}

enum followed_outcome followed_job_end(struct followed_job *job,
                                       const struct quern_status *status,
                                       struct quern_event *given,
                                       struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct result result = { 0 };
    char type[sizeof(job->type)];

    if (!quern_state_is_terminal(status->state))
        return FOLLOWED_AGAIN; /* it was requeued just now */
    snprintf(type, sizeof(type), "job.%s", quern_state_name(status->state));
    result.error.code = view_of(status->error_code);
    if (status->result &&
        !message_decode(&schema_result,
                        (struct view){ status->result, status->result_size },
                        &result, &arena, err))
        return FOLLOWED_FAILED;
    const struct event end = {
        .seq = status->seq,
        .at = status->finished_at,
        .attempt = status->attempts,
        .type = view_of(type),
        .data = { .ms = status->finished_at - status->submitted_at,
                  .answer = view_head(result.answer, ANSWER_HEAD),
                  .error = result.error },
    };
    if (!followed_job_make(job, &end, err))
        return FOLLOWED_FAILED;
    return followed_job_give(job, &end, buf_view(&job->made), given);
}

/* Nothing newer is in the stream. The status was read before the stream, and an
 * event is in the stream when the status counts it: so events up to status->seq
 * that are not in the stream are gone for good. */
static enum followed_outcome give_rest(struct followed_job *job,
                                       const struct quern_status *status,
                                       struct quern_event *given,
                                       struct err *err)
{
    bool over = quern_state_is_terminal(status->state);

    if (status->seq <= job->last)
        return over ? FOLLOWED_END : FOLLOWED_QUIET;
    if (over && status->seq == job->last + 1)
        return FOLLOWED_RESULT;
    uint64_t to = over ? status->seq - 1 : status->seq;
    return give_gap(job, job->last + 1, to, to, given, err);
}

/* --- the two ways in which events come ------------------------------------ */

enum followed_outcome followed_job_row(struct followed_job *job,
                                       struct quern_event *given,
                                       struct err *err)
{
    return has_row(job) ? give_row(job, given, err) : FOLLOWED_READ;
}

enum followed_outcome
followed_job_read(struct followed_job *job, const struct quern_status *status,
                  redisReply *page, struct quern_event *given, struct err *err)
{
    followed_job_drop_page(job);
    job->page = page;
    if ((status && status->seq < job->last) || !still_stands(job))
        return give_up(job, given, err);
    if (has_row(job))
        return FOLLOWED_AGAIN;
    return status ? give_rest(job, status, given, err) : FOLLOWED_QUIET;
}

static enum followed_outcome give_end(struct followed_job *job,
                                      struct quern *quern,
                                      struct quern_event *given,
                                      struct err *err)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };

    return status_read(quern, view_of(job->id.text), true, &status, err)
               ? followed_job_end(job, &status, given, err)
               : FOLLOWED_FAILED;
}

enum followed_outcome followed_job_look(struct followed_job *job,
                                        struct quern *quern,
                                        struct quern_event *given,
                                        struct err *err)
{
    struct quern_status status = { 0 };
    enum followed_outcome outcome = followed_job_row(job, given, err);
    bool known;

    if (outcome != FOLLOWED_READ)
        return outcome;
    if (!read_status(job, quern, &status, &known, err))
        return FOLLOWED_FAILED;
    redisReply *page = followed_job_call_page(job, quern, err);
    if (!page)
        return FOLLOWED_FAILED;
    outcome = followed_job_read(job, known ? &status : NULL, page, given, err);
    return outcome == FOLLOWED_RESULT ? give_end(job, quern, given, err)
                                      : outcome;
}

enum followed_outcome followed_job_hear(struct followed_job *job,
                                        struct view bytes,
                                        struct quern_event *given)
{
    enum followed_outcome outcome;
    struct event event;

    if (bytes.len == 0 || !followed_decode(job, bytes, &event, NULL))
        return FOLLOWED_AGAIN;
    outcome = followed_job_weigh(job, event.seq, followed_job_print(bytes));
    return outcome == FOLLOWED_EVENT
               ? followed_job_give(job, &event, bytes, given)
               : outcome;
}
