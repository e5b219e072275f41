/* draft.c - from what the caller gave to bytes that are known to be right.
 *
 * struct quern_job or JSON becomes struct job, which is encoded and decoded
 * again by the table that consumers decode by. So the checks of a job stand in
 * one place (schemas/message/job.c), and what passes here passes there. */
#include "producer/client/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "producer/client/fleet.h"
#include "schemas/json/convert.h"
#include "schemas/json/output_schema.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

/* --- ids and files -------------------------------------------------------- */

bool draft_new_id(unsigned int partition, struct quern_id *id, struct err *err)
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
            draft_new_id(partition, id, &err)) ||
           handle_fail(error, &err);
}

/* Uploads the files that are sent along, and names them behind those that the
 * job names itself. All are checked before the first one is uploaded. */
static bool draft_add_files(struct job *job, struct quern *quern,
                            const struct quern_file *sent, size_t count,
                            struct arena *arena, struct err *err)
{
    size_t named = job->files.count;
    struct file_ref *refs;
    struct sha256 *hashes;

    if (count == 0)
        return true;
    if (count > MAX_FILES - named)
        return err_set(err, ERR_REJECT, "too_large",
                       "files: %zu, at most %d per job", named + count,
                       MAX_FILES);
    for (size_t i = 0; i < count; i++)
        if (!blob_check_file(&sent[i], err))
            return false;
    refs = arena_alloc(arena, (named + count) * sizeof(*refs));
    hashes = arena_alloc(arena, count * sizeof(*hashes));
    if (named > 0)
        memcpy(refs, job->files.items, named * sizeof(*refs));
    for (size_t i = 0; i < count; i++)
        if (!blob_upload_file(quern, job->tenant, &sent[i], &refs[named + i],
                              &hashes[i], err))
            return false;
    job->files = (struct list){ refs, named + count };
    return true;
}

/* --- what was given ------------------------------------------------------- */

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

/* A wrong count from a caller would be allocated for: so counts are bounded
 * before anything else looks at them. */
static bool counts_are_sane(const struct quern_job *job, struct err *err)
{
    const struct {
        const char *what;
        size_t count, max;
    } lists[] = {
        { "cells", job->cell_count, MAX_CELLS },
        { "paths", job->path_count, MAX_FILES },
        { "metadata", job->metadata_count, MAX_METADATA },
        { "env", job->env_count, MAX_ENV },
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i].count > lists[i].max)
            return err_set(err, ERR_REJECT, "too_large", "%s: %zu, at most %zu",
                           lists[i].what, lists[i].count, lists[i].max);
    return true;
}

/* Reads quern_job.more into the job. Any member may stand there, by its name in
 * the table; a name that is not in the table is refused, since it is a slip of
 * whoever wrote the program. The table demands an id, so a placeholder stands
 * in: apply_fields() and choose_id() set the real one. */
static bool read_more(const char *more, struct job *job, struct arena *arena,
                      struct err *err)
{
    static const char any_id[] = "00000000-0000-7000-8000-000000000000";
    CLEANUP(cleanup_json) json_t *json = NULL;

    if (!more)
        return true;
    json = parse_json(more, "more", err);
    if (!json)
        return false;
    if (json_object_set_new(json, "id", json_string(any_id)))
        return err_set(err, ERR_REJECT, "bad_field",
                       "more must be a JSON object");
    return json_to_message(&schema_job, json, job, arena, NULL, err);
}

/* Members of the struct that are set stand in place of those of more. */
static void apply_fields(struct job *job, const struct quern_job *from,
                         struct arena *arena)
{
    const struct {
        struct view *member;
        const char *text;
    } texts[] = {
        { &job->queue, from->queue },
        { &job->tenant, from->tenant },
        { &job->session, from->session },
        { &job->prompt, from->prompt },
        { &job->system, from->system },
        { &job->model, from->model },
        { &job->action.to, from->to },
        { &job->idempotency_key, from->idempotency_key },
    };

    job->id = view_of(from->id);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].text)
            *texts[i].member = view_of(texts[i].text);
    if (from->kind != QUERN_CONVERSATION)
        job->kind = (int)from->kind;
    if (from->priority != QUERN_NORMAL)
        job->priority = (int)from->priority;
    if (from->action != QUERN_SHOW)
        job->action.verb = (int)from->action;
    if (from->deadline_ms > 0)
        job->limits.deadline_ms = from->deadline_ms;
    if (from->cell_count > 0)
        job->cells = text_list(from->cells, from->cell_count, arena);
    if (from->path_count > 0)
        job->action.names = text_list(from->paths, from->path_count, arena);
    if (from->metadata_count > 0)
        job->metadata = pair_list(from->metadata, from->metadata_count, arena);
    if (from->env_count > 0)
        job->env = pair_list(from->env, from->env_count, arena);
}

/* --- the bytes ------------------------------------------------------------ */

static void draft_init(struct draft *draft)
{
    *draft = (struct draft){ 0 };
    buf_init(&draft->bytes, MAX_JOB_BYTES);
}

void draft_finish(struct draft *draft)
{
    if (!draft)
        return;
    arena_finish(&draft->arena);
    arena_finish(&draft->decoded);
    buf_finish(&draft->bytes);
}

/* Decodes the bytes as a consumer will, and fills submit from the result. What
 * is of the submit alone and not in the bytes (unique key, delay, depths) has
 * been set before. */
static bool draft_decode(struct draft *draft, struct view bytes,
                         struct err *err)
{
    struct submit *submit = &draft->submit;
    struct job job;

    if (!job_decode(&job, bytes, &draft->decoded, err))
        return false;
    if (job.output_schema) {
        json_t *schema = output_schema_read(job.output_schema, err);

        if (!schema)
            return false;
        json_decref(schema);
    }
    submit->id = job.id;
    submit->queue = job.queue;
    submit->priority = job.priority;
    submit->tenant = job.tenant;
    submit->session = job.session;
    submit->idempotency_key = job.idempotency_key;
    submit->deadline_ms = job.limits.deadline_ms;
    submit->not_before = job.not_before;
    submit->files = job.files;
    submit->earlier = job.earlier;
    submit->notify = job.notify;
    submit->body = bytes;
    draft->unknown = job.unknown;
    memcpy(draft->id.text, job.id.data, job.id.len);
    draft->id.text[job.id.len] = '\0';
    return true;
}

static bool find_by_handle(void *owner, struct view tenant,
                           unsigned int *partition, struct err *err)
{
    return handle_partition(owner, tenant, partition, err);
}

/* An id from the caller must name the partition of its tenant: all of a
 * tenant's jobs are there, and limits and sessions are kept there. */
static bool check_partition(const struct draft_finder *finder,
                            const struct submit *submit, struct err *err)
{
    unsigned int named = 0, partition;
    struct view tenant = submit->tenant;

    if (!id_parse(submit->id, &named))
        return true; /* the codec says what is wrong with it */
    if (!finder->find(finder->owner, tenant, &partition, err))
        return false;
    return named == partition ||
           err_set(err, ERR_REJECT, "bad_field",
                   "id: it names partition %03x, but tenant %.*s is in %03x: "
                   "take an id of quern_id_new()",
                   named, VIEW_ARG(names_or_default(tenant)), partition);
}

static bool choose_id(struct draft *draft, const struct quern_id *id,
                      struct err *err)
{
    draft->fresh = true;
    if (id->text[0] == '\0')
        return draft_new_id(0, &draft->id, err);
    draft->id = *id;
    return true;
}

/* json: what the job was read from, or NULL. Its members that no job has are
 * kept in the bytes, as another client would have sent them: the result then
 * names them in its notes, and nobody loses what a later version may know. */
static bool encode(struct draft *draft, const struct job *job,
                   const json_t *json, struct err *err)
{
    CLEANUP(buf_finish) struct buf known;

    buf_init(&known, MAX_JOB_BYTES);
    buf_clear(&draft->bytes);
    if (!json || draft->unknown.count == 0)
        return message_encode(&schema_job, job, &draft->bytes, err) &&
               draft_decode(draft, buf_view(&draft->bytes), err);
    return message_encode(&schema_job, job, &known, err) &&
           json_keep_unknown(&schema_job, json, buf_view(&known), &draft->bytes,
                             err) &&
           draft_decode(draft, buf_view(&draft->bytes), err);
}

/* Encodes the job, and gives it the id that it is submitted with. A new id
 * names partition 0 until all else is known to be right: a bad job is refused
 * without a call of Redis. Only then is Redis asked how many partitions there
 * are, and the job encoded again where its tenant is in another one. made: the
 * id is of an earlier try, and already right. */
static bool draft_settle(struct draft *draft, const struct draft_finder *finder,
                         struct job *job, const json_t *json, bool made,
                         struct err *err)
{
    unsigned int partition;

    if (!encode(draft, job, json, err))
        return false;
    if (!draft->fresh)
        return check_partition(finder, &draft->submit, err);
    if (made)
        return true;
    if (!finder->find(finder->owner, draft->submit.tenant, &partition, err))
        return false;
    if (partition == 0)
        return true;
    if (!draft_new_id(partition, &draft->id, err))
        return false;
    job->id = view_of(draft->id.text);
    return encode(draft, job, json, err);
}

bool draft_read(struct draft *draft, struct quern *quern,
                const struct quern_job *from, const struct quern_id *id,
                struct err *err)
{
    struct job job = { 0 };

    draft_init(draft);
    draft->submit = (struct submit){
        .unique_key = view_of(from->unique_key),
        .delay_ms = from->delay_ms,
        .max_depth = from->max_depth,
        .tenant_depth = from->tenant_depth,
    };
    if (!counts_are_sane(from, err) ||
        !read_more(from->more, &job, &draft->arena, err))
        return false;
    apply_fields(&job, from, &draft->arena);
    if (!draft_add_files(&job, quern, from->files, from->file_count,
                         &draft->arena, err))
        return false;
    if (job.id.len == 0) {
        if (!choose_id(draft, id, err))
            return false;
        job.id = view_of(draft->id.text);
    }
    return draft_settle(draft, &(struct draft_finder){ find_by_handle, quern },
                        &job, NULL, id->text[0], err);
}

/* The table demands an id; JSON that a person writes may leave it out. */
static bool add_id(struct draft *draft, json_t *json, const struct quern_id *id,
                   struct err *err)
{
    if (!json_is_object(json) || json_object_get(json, "id"))
        return true;
    return choose_id(draft, id, err) &&
           json_object_set_new(json, "id", json_string(draft->id.text)) == 0;
}

/* Puts the options that are members of a job into it, so that the stored job
 * says by itself how it was submitted. */
static void apply_options(struct job *job,
                          const struct quern_submit_options *options)
{
    if (options->queue)
        job->queue = view_of(options->queue);
    if (options->priority)
        job->priority = (int)*options->priority;
    if (options->idempotency_key)
        job->idempotency_key = view_of(options->idempotency_key);
}

/* quern: of files that are sent along; NULL: there are none. */
static bool read_object(struct draft *draft, const struct draft_finder *finder,
                        struct quern *quern, json_t *json,
                        const struct quern_submit_options *options,
                        const struct quern_id *id, struct err *err)
{
    static const struct quern_submit_options nothing;
    struct job job;

    if (!options)
        options = &nothing;
    draft_init(draft);
    draft->submit.unique_key = view_of(options->unique_key);
    draft->submit.delay_ms = options->delay_ms;
    if (!json || !add_id(draft, json, id, err) ||
        !json_to_message(&schema_job, json, &job, &draft->arena,
                         &draft->unknown, err))
        return false;
    if (quern && !draft_add_files(&job, quern, options->files,
                                  options->file_count, &draft->arena, err))
        return false;
    apply_options(&job, options);
    return draft_settle(draft, finder, &job, json, id->text[0], err);
}

bool draft_read_json(struct draft *draft, struct quern *quern, const char *text,
                     const struct quern_submit_options *options,
                     const struct quern_id *id, struct err *err)
{
    CLEANUP(cleanup_json) json_t *json = parse_json(text, "job", err);

    return read_object(draft, &(struct draft_finder){ find_by_handle, quern },
                       quern, json, options, id, err);
}

bool draft_read_object(struct draft *draft, const struct draft_finder *finder,
                       json_t *json, const struct quern_submit_options *options,
                       const struct quern_id *id, struct err *err)
{
    return read_object(draft, finder, NULL, json, options, id, err);
}

bool draft_read_bytes(struct draft *draft, struct quern *quern,
                      struct view bytes, struct err *err)
{
    draft_init(draft);
    return draft_decode(draft, bytes, err) &&
           check_partition(&(struct draft_finder){ find_by_handle, quern },
                           &draft->submit, err);
}

void draft_note(const struct draft *draft, char note[QUERN_NOTE])
{
    CLEANUP(buf_finish) struct buf text = { .max = QUERN_NOTE - 1 };

    unknown_describe(&draft->unknown, &text);
    view_copy(note, QUERN_NOTE, buf_view(&text));
}

/* --- the step ------------------------------------------------------------- */

void draft_command(struct command *command, const struct names *names,
                   const struct draft *draft)
{
    transition_submit(command, names, &draft->submit);
}

bool draft_submitted(const redisReply *reply, bool fresh, struct quern_id *id,
                     bool *existed, struct err *err)
{
    struct view stands;
    bool old;

    if (!transition_submitted(reply, &stands, &old, err))
        return false;
    if (stands.len != ID_LEN)
        return err_set(err, ERR_REJECT, "internal", "submit: not a job id");
    /* Sent again after a lost reply, an id that we made finds the job of the
     * first try: nobody else has it, so the job did not exist before. */
    if (fresh && view_is(stands, id->text))
        old = false;
    memcpy(id->text, stands.data, ID_LEN);
    id->text[ID_LEN] = '\0';
    if (existed)
        *existed = old;
    return true;
}
