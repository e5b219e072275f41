/* recording.c - quern_record(): a job as it ran, from what Redis keeps of it:
 * what was submitted, the journal, the result and the blobs that requests to
 * models were made of. */
#include "schemas/json/recording.h"

#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/client/quern_operate.h"
#include "schemas/message/id.h"
#include "schemas/message/job.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"

static redisReply *recording_ask(struct quern *quern, struct view id,
                                 const struct key *key, bool is_list,
                                 struct err *err)
{
    struct command command;
    redisReply *reply;

    command_init(&command, is_list ? "LRANGE" : "GET");
    command_add(&command, key_view(key));
    if (is_list) {
        command_add_text(&command, "0");
        command_add_text(&command, "-1");
    }
    reply = handle_call_job(quern, id, &command, err);
    command_finish(&command);
    return reply;
}

/* What Redis has of a job. The job may go on while it is read, so the result is
 * read first: where there is one, the journal is whole. */
struct job_replies {
    redisReply *result, *body, *journal;
};

static bool read_kept(struct quern *quern, struct view id,
                      struct job_replies *kept, struct err *err)
{
    const struct names *names = &quern->fleet->names;
    struct key result = names_result(names, id);
    struct key body = names_body(names, id);
    struct key journal = names_journal(names, id);

    return (kept->result = recording_ask(quern, id, &result, false, err)) &&
           (kept->body = recording_ask(quern, id, &body, false, err)) &&
           (kept->journal = recording_ask(quern, id, &journal, true, err));
}

/* Collects the blobs that requests were made of. A blob that has expired, has
 * other bytes than its name says, or does not fit is left out: the request that
 * needs it then cannot be compared byte by byte. */
struct blob_collector {
    struct quern *quern;
    struct view id;
    struct recording *recording;
    struct arena *arena;
    size_t room;         /* blobs that fit */
    size_t left;         /* bytes that still fit */
    struct view *passed; /* those that are left out: each is looked for once */
    size_t passed_count;
};

static bool was_passed(const struct blob_collector *gathering, struct view name)
{
    for (size_t i = 0; i < gathering->passed_count; i++)
        if (view_equal(gathering->passed[i], name))
            return true;
    return false;
}

/* Borrows the name, which is of a record: that stays as long. */
static void pass_over(struct blob_collector *gathering, struct view name)
{
    gathering->passed = list_grow(gathering->passed, gathering->passed_count,
                                  sizeof(*gathering->passed));
    gathering->passed[gathering->passed_count++] = name;
}

/* True also when the blob is left out. Each name is fetched once: blobs that
 * were taken are in the recording, others in passed. */
static bool take_blob(struct blob_collector *gathering, struct view name,
                      struct err *err)
{
    struct recording *recording = gathering->recording;
    struct recorded_blob *blobs = recording->blobs.items;
    unsigned int partition;
    redisReply *reply;

    if (!id_is_sha256(name) || recording->blobs.count == gathering->room ||
        recording_blob(recording, name).len > 0 ||
        was_passed(gathering, name) || !id_parse(gathering->id, &partition))
        return true;
    struct key key =
        names_blob(&gathering->quern->fleet->names, partition, name);

    if (!(reply =
              recording_ask(gathering->quern, gathering->id, &key, false, err)))
        return false;
    struct view bytes = reply_view(reply);

    if (bytes.len > 0 && bytes.len <= gathering->left &&
        blob_is_sound(name, bytes)) {
        blobs[recording->blobs.count++] = (struct recorded_blob){
            .name = arena_copy(gathering->arena, name),
            .bytes = arena_copy(gathering->arena, bytes),
        };
        gathering->left -= bytes.len;
    } else {
        pass_over(gathering, name);
    }
    freeReplyObject(reply);
    return true;
}

static bool recording_gather(struct blob_collector *gathering,
                             struct view bytes, struct err *err)
{
    struct record record;
    struct err why;

    if (!message_decode(&schema_record, bytes, &record, gathering->arena, &why))
        return true; /* recording_write() says so */
    const struct view *shown = record.shown.items;

    for (size_t i = 0; i < record.shown.count; i++)
        if (!take_blob(gathering, shown[i], err))
            return false;
    return take_blob(gathering, record.history, err);
}

static bool gather_blobs(struct quern *quern, struct recording *recording,
                         struct arena *arena, struct err *err)
{
    const struct view *records = recording->records.items;
    struct blob_collector gathering = { .quern = quern,
                                        .id = recording->id,
                                        .recording = recording,
                                        .arena = arena,
                                        .room = MAX_RECORDED_BLOBS,
                                        .left = MAX_RECORDED_BLOB_BYTES };
    struct job job;
    bool ok = true;

    recording->blobs.items =
        arena_alloc(arena, MAX_RECORDED_BLOBS * sizeof(struct recorded_blob));
    if (job_decode(&job, recording->body, arena, NULL))
        ok = take_blob(&gathering, job.earlier, err);
    for (size_t i = 0; i < recording->records.count && ok; i++)
        ok = recording_gather(&gathering, records[i], err);
    free(gathering.passed);
    return ok;
}

static bool recording_is_text(const msgpack_object *value, const char *text)
{
    return value->type == MSGPACK_OBJECT_STR &&
           view_is((struct view){ value->via.str.ptr, value->via.str.size },
                   text);
}

/* Empties the values of the map, in place; true: it has some. */
static bool blank(const msgpack_object *env)
{
    if (env->type != MSGPACK_OBJECT_MAP)
        return false;
    for (uint32_t i = 0; i < env->via.map.size; i++) {
        msgpack_object *value = &env->via.map.ptr[i].val;

        if (value->type == MSGPACK_OBJECT_STR)
            value->via.str.size = 0;
        else if (value->type == MSGPACK_OBJECT_BIN)
            value->via.bin.size = 0;
    }
    return env->via.map.size > 0;
}

/* The job without the values of its environment variables: they may be secrets,
 * and no request to a model depends on them. All other members stay as they
 * came, also those that this version does not know. "" when it cannot be
 * encoded: rather no body than a secret. */
static struct view without_values(struct view body, struct arena *arena)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_JOB_BYTES };
    const msgpack_object *job;
    struct err err;
    bool blanked = false;

    if (!value_decode(body, &job, arena, &err) ||
        job->type != MSGPACK_OBJECT_MAP)
        return body;
    for (uint32_t i = 0; i < job->via.map.size; i++)
        if (recording_is_text(&job->via.map.ptr[i].key, "env"))
            blanked |= blank(&job->via.map.ptr[i].val);
    if (!blanked)
        return body;
    if (!value_encode(job, &bytes, &err))
        return VIEW("");
    return arena_copy(arena, buf_view(&bytes));
}

/* The recording borrows from the replies and the arena; only its text is given
 * away. */
static bool write_kept(struct quern *quern, const struct job_replies *kept,
                       struct view id, char **text, size_t *size,
                       struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf out = { .max = MAX_RECORDING_BYTES };
    size_t count = kept->journal->elements;
    CLEANUP(cleanup_free)
    struct view *records = calloc(count + 1, sizeof(*records));
    struct recording recording = {
        .id = id,
        .body = reply_view(kept->body),
        .records = { records, count },
        .result = reply_view(kept->result),
    };

    if (!records)
        abort();
    for (size_t i = 0; i < count; i++)
        records[i] = reply_view(kept->journal->element[i]);
    if (recording.body.len == 0)
        return err_set(err, ERR_REJECT, "expired",
                       "Redis has no body of job %.*s: the job waits in a "
                       "lane, had nothing to do, or ended long ago",
                       VIEW_ARG(id));
    recording.body = without_values(recording.body, &arena);
    if (!gather_blobs(quern, &recording, &arena, err))
        return false;
    if (!recording_write(&recording, &out, err))
        return err_prefix(err, "job %.*s", VIEW_ARG(id));
    *text = view_dup(buf_view(&out));
    *size = out.len;
    return true;
}

bool quern_record(struct quern *quern, const char *id_text, char **text,
                  size_t *size, struct quern_error *error)
{
    struct job_replies kept = { 0 };
    struct err err = { 0 };
    struct view id;
    bool ok = handle_id(&id, id_text, &err) &&
              read_kept(quern, id, &kept, &err) &&
              write_kept(quern, &kept, id, text, size, &err);

    cleanup_reply(&kept.result);
    cleanup_reply(&kept.body);
    cleanup_reply(&kept.journal);
    return ok || handle_fail(error, &err);
}
