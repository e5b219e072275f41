/* submit.c - putting a job into its queue, once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "producer/client/job.h"
#include "schemas/json/convert.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "schemas/redis/transition.h"

static bool new_id(unsigned int partition, struct quern_id *id, struct err *err)
{
    unsigned char random[8];
    struct timespec now;
    struct id made;

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return err_set(err, ERR_RETRY, "internal", "getrandom: %s",
                       strerror(errno));
    clock_gettime(CLOCK_REALTIME, &now);
    made =
        id_make((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
                partition, random);
    memcpy(id->text, made.text, sizeof(id->text));
    return true;
}

bool quern_id_new(struct quern *quern, const char *tenant, struct quern_id *id,
                  struct quern_error *error)
{
    struct err err = { 0 };
    unsigned int partition;

    return (handle_partition(quern, view_of(tenant), &partition, &err) &&
            new_id(partition, id, &err)) ||
           handle_fail(error, &err);
}

/* Where a tenant's jobs are is not for the caller to choose. */
static bool check_partition(struct quern *quern, const struct job *job,
                            struct err *err)
{
    unsigned int named = 0, partition;

    if (!id_parse(job->id, &named))
        return true; /* the codec says what is wrong with it */
    if (!handle_partition(quern, job->tenant, &partition, err))
        return false;
    return named == partition ||
           err_set(err, ERR_REJECT, "bad_field",
                   "id: it names partition %03x, but tenant %.*s is in %03x: "
                   "take an id of quern_id_new()",
                   named,
                   VIEW_ARG(job->tenant.len ? job->tenant : VIEW("default")),
                   partition);
}

static bool files_add(struct files *files, struct quern *quern,
                      struct view tenant, const struct quern_file *sent,
                      size_t count, struct err *err)
{
    if (count > MAX_FILES - files->count)
        return err_set(err, ERR_REJECT, "too_large",
                       "files: %zu, at most %d per job", files->count + count,
                       MAX_FILES);
    for (size_t i = 0; i < count; i++, files->count++)
        if (!blob_upload_file(quern, tenant, &sent[i],
                              &files->refs[files->count],
                              &files->hashes[files->count], err))
            return false;
    return true;
}

/* asked: what is not in the body; NULL: nothing. */
static bool submit_bytes(struct quern *quern, const struct job *job,
                         struct view body, const struct quern_job *asked,
                         struct quern_id *id, bool *existed, struct err *err)
{
    static const struct quern_job nothing = { 0 };
    const struct quern_job *more = asked ? asked : &nothing;
    const struct submit submit = {
        .id = job->id,
        .queue = job->queue,
        .priority = job->priority,
        .tenant = job->tenant,
        .session = job->session,
        .idempotency_key = job->idempotency_key,
        .unique_key = view_of(more->unique_key),
        .deadline_ms = job->limits.deadline_ms,
        .delay_ms = more->delay_ms,
        .not_before = job->not_before,
        .max_depth = more->max_depth,
        .tenant_depth = more->tenant_depth,
        .files = job->files,
        .body = body,
    };
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct view stands;
    bool old;

    memcpy(id->text, job->id.data, job->id.len);
    id->text[job->id.len] = '\0';
    transition_submit(&command, &quern->fleet->names, &submit);
    reply = handle_write_job(quern, job->id, &command, err);
    command_finish(&command);
    if (!reply || !transition_submitted(reply, &stands, &old, err))
        return false;
    if (stands.len != ID_LEN)
        return err_set(err, ERR_REJECT, "internal", "submit: not a job id");
    memcpy(id->text, stands.data, ID_LEN);
    if (existed)
        *existed = old;
    return true;
}

/* The body is decoded again, as a consumer will: what it would refuse is told
 * here, where somebody can still change it. */
static bool encode(const struct job *job, struct buf *body, struct job *decoded,
                   struct arena *arena, struct err *err)
{
    body->len = 0;
    return message_encode(&schema_job, job, body, err) &&
           job_decode(decoded, buf_view(body), arena, err);
}

/* The id of a job that has none names partition 0 until all else is known to be
 * right: only then is Redis asked where its tenant is. */
static bool encode_fresh(struct quern *quern, struct job *job,
                         struct quern_id *made, struct buf *body,
                         struct job *decoded, struct arena *arena,
                         struct err *err)
{
    unsigned int partition;

    if (!new_id(0, made, err))
        return false;
    job->id = view_of(made->text);
    if (!encode(job, body, decoded, arena, err) ||
        !handle_partition(quern, job->tenant, &partition, err))
        return false;
    return partition == 0 || (new_id(partition, made, err) &&
                              encode(job, body, decoded, arena, err));
}

static bool submit_job(struct quern *quern, struct job *job,
                       const struct quern_job *asked, struct quern_id *id,
                       bool *existed, struct err *err)
{
    CLEANUP(buf_finish) struct buf body;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct quern_id made;
    bool fresh = job->id.len == 0;
    struct job decoded;
    bool ready;

    id->text[0] = '\0';
    buf_init(&body, MAX_JOB_BYTES);
    if (fresh)
        ready = encode_fresh(quern, job, &made, &body, &decoded, &arena, err);
    else
        ready = encode(job, &body, &decoded, &arena, err) &&
                check_partition(quern, job, err);
    if (!ready || !submit_bytes(quern, &decoded, buf_view(&body), asked, id,
                                existed, err))
        return false;
    /* Sent again after a lost reply, a fresh id finds itself. */
    if (existed && fresh && strcmp(id->text, made.text) == 0)
        *existed = false;
    return true;
}

static struct list text_list(const char *const *texts, size_t count,
                             struct arena *arena)
{
    struct view *views = NULL;

    if (count > 0)
        views = arena_alloc(arena, count * sizeof(*views));
    for (size_t i = 0; i < count; i++)
        views[i] = view_of(texts[i]);
    return (struct list){ views, count };
}

static struct list pair_list(const struct quern_pair *pairs, size_t count,
                             struct arena *arena)
{
    struct pair *list = NULL;

    if (count > 0)
        list = arena_alloc(arena, count * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] =
            (struct pair){ view_of(pairs[i].key), view_of(pairs[i].value) };
    return (struct list){ list, count };
}

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static json_t *parse_json(const char *text, const char *what, struct err *err)
{
    json_error_t fault;
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &fault);

    if (!json)
        err_set(err, ERR_REJECT, "bad_field",
                "%s: not JSON: line %d, column %d: %s", what, fault.line,
                fault.column, fault.text);
    return json;
}

static bool read_messages(const char *text, const msgpack_object **messages,
                          struct arena *arena, struct err *err)
{
    CLEANUP(cleanup_json) json_t *json = NULL;

    if (!text)
        return true;
    json = parse_json(text, "messages", err);
    return json && json_to_value(json, messages, arena, err);
}

/* Counts are bounded before anything is allocated for them. */
static bool counts_are_sane(const struct quern_job *job, struct err *err)
{
    const struct {
        const char *what;
        size_t count, max;
    } lists[] = {
        { "tools", job->tool_count, MAX_TOOLS },
        { "cells", job->cell_count, MAX_CELLS },
        { "paths", job->path_count, MAX_FILES },
        { "metadata", job->metadata_count, MAX_METADATA },
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i].count > lists[i].max)
            return err_set(err, ERR_REJECT, "too_large", "%s: %zu, at most %zu",
                           lists[i].what, lists[i].count, lists[i].max);
    return true;
}

static struct job to_job(const struct quern_job *from, struct arena *arena)
{
    return (struct job){
        .id = view_of(from->id),
        .kind = (int)from->kind,
        .queue = view_of(from->queue),
        .priority = (int)from->priority,
        .tenant = view_of(from->tenant),
        .session = view_of(from->session),
        .prompt = view_of(from->prompt),
        .system = view_of(from->system),
        .model = view_of(from->model),
        .tools = text_list(from->tools, from->tool_count, arena),
        .cells = text_list(from->cells, from->cell_count, arena),
        .action = {
            .verb = (int)from->action,
            .names = text_list(from->paths, from->path_count, arena),
            .to = view_of(from->to),
        },
        .limits = {
            .max_turns = from->max_turns,
            .deadline_ms = from->deadline_ms,
            .max_tokens = from->max_tokens,
            .cell_ms = from->cell_ms,
            .memory_bytes = from->memory_bytes,
        },
        .retry = { from->max_attempts, from->backoff_ms },
        .idempotency_key = view_of(from->idempotency_key),
        .not_before = from->not_before,
        .metadata = pair_list(from->metadata, from->metadata_count, arena),
        .traceparent = view_of(from->traceparent),
    };
}

bool job_of(struct quern *quern, const struct quern_job *from, struct job *job,
            struct files *files, struct arena *arena, struct err *err)
{
    if (!counts_are_sane(from, err))
        return false;
    *job = to_job(from, arena);
    if (!read_messages(from->messages, &job->messages, arena, err) ||
        !files_add(files, quern, job->tenant, from->files, from->file_count,
                   err))
        return false;
    job->files = (struct list){ files->refs, files->count };
    return true;
}

bool quern_submit(struct quern *quern, const struct quern_job *from,
                  struct quern_id *id, bool *existed, struct quern_error *error)
{
    struct err err = { 0 };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct files files = { .count = 0 };
    struct job job;

    if (!job_of(quern, from, &job, &files, &arena, &err))
        return handle_fail(error, &err);
    return submit_job(quern, &job, from, id, existed, &err) ||
           handle_fail(error, &err);
}

/* The table asks for an id, a person need not. */
static bool read_job(json_t *json, struct job *job, struct arena *arena,
                     struct err *err)
{
    bool fresh = json_is_object(json) && !json_object_get(json, "id");
    struct quern_id id;

    if (fresh && (!new_id(0, &id, err) ||
                  json_object_set_new(json, "id", json_string(id.text))))
        return false;
    if (!json_to_message(&schema_job, json, job, arena, err))
        return false;
    if (fresh)
        job->id = (struct view){ 0 };
    return true;
}

bool job_of_json(const char *text, struct job *job, struct arena *arena,
                 struct err *err)
{
    CLEANUP(cleanup_json) json_t *json = parse_json(text, "job", err);

    return json && read_job(json, job, arena, err);
}

bool quern_submit_json(struct quern *quern, const char *text,
                       const struct quern_file *sent, size_t sent_count,
                       struct quern_id *id, bool *existed,
                       struct quern_error *error)
{
    struct err err = { 0 };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(cleanup_json) json_t *json = parse_json(text, "job", &err);
    struct files files = { .count = 0 };
    struct job job;

    if (!json || !read_job(json, &job, &arena, &err))
        return handle_fail(error, &err);
    files.count = job.files.count;
    if (files.count > 0)
        memcpy(files.refs, job.files.items,
               files.count * sizeof(files.refs[0]));
    if (!files_add(&files, quern, job.tenant, sent, sent_count, &err))
        return handle_fail(error, &err);
    job.files = (struct list){ files.refs, files.count };
    return submit_job(quern, &job, NULL, id, existed, &err) ||
           handle_fail(error, &err);
}

bool quern_submit_bytes(struct quern *quern, const void *bytes, size_t size,
                        struct quern_id *id, bool *existed,
                        struct quern_error *error)
{
    struct err err = { 0 };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view body = { bytes, size };
    struct job job;

    return (job_decode(&job, body, &arena, &err) &&
            check_partition(quern, &job, &err) &&
            submit_bytes(quern, &job, body, NULL, id, existed, &err)) ||
           handle_fail(error, &err);
}
