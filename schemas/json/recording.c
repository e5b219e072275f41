/* recording.c - a job as it ran, in a file that stands alone. */
#include "schemas/json/recording.h"

#include <openssl/evp.h>
#include <string.h>

#include "schemas/json/base64.h"
#include "schemas/json/convert.h"
#include "schemas/message/id.h"
#include "schemas/message/journal.h"
#include "schemas/message/limits.h"

enum { RECORDING_VERSION = 1 };

/* --- writing -------------------------------------------------------------- */

static int recording_write_piece(const char *data, size_t len, void *owner)
{
    return buf_append(owner, data, len) ? 0 : -1;
}

/* Takes over the reference value. */
static void add_line(struct buf *out, const char *name, json_t *value)
{
    json_t *line = json_object();

    json_object_set_new(line, name, value);
    json_dump_callback(line, recording_write_piece, out, JSON_COMPACT);
    buf_add(out, VIEW("\n"));
    json_decref(line);
}

/* room: memory for the schema's struct. */
static bool add_message(struct buf *out, const char *name,
                        const struct schema *schema, struct view bytes,
                        void *room, struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };

    if (!message_decode(schema, bytes, room, &arena, err))
        return false;
    add_line(out, name, json_from_message(schema, room));
    return true;
}

/* A job with unknown members is written as bytes: JSON by its table would lose
 * them, but the result names them. */
static void add_job(struct buf *out, struct view body)
{
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct unknown_members unknown = { 0 };
    struct job job;

    if (message_decode_noting(&schema_job, body, &job, &arena, &unknown,
                              NULL) &&
        unknown.count == 0) {
        add_line(out, "job", json_from_message(&schema_job, &job));
        return;
    }
    base64_encode(body, &text);
    add_line(
        out, "body",
        json_pack("{s:s%}", "base64", text.data ? text.data : "", text.len));
}

static void add_blobs(struct buf *out, const struct list *list)
{
    const struct recorded_blob *blobs = list->items;

    for (size_t i = 0; i < list->count; i++) {
        CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };

        base64_encode(blobs[i].bytes, &text);
        add_line(out, "blob",
                 json_pack("{s:s%, s:s%}", "name", blobs[i].name.data,
                           blobs[i].name.len, "base64",
                           text.data ? text.data : "", text.len));
    }
}

bool recording_write(const struct recording *recording, struct buf *out,
                     struct err *err)
{
    const struct view *records = recording->records.items;
    struct record record;
    struct result result;

    add_line(out, "recording",
             json_pack("{s:i, s:s, s:s%}", "v", RECORDING_VERSION, "by",
                       "quern " QUERN_VERSION, "job",
                       recording->id.data ? recording->id.data : "",
                       recording->id.len));
    add_job(out, recording->body);
    for (size_t i = 0; i < recording->records.count; i++)
        if (!add_message(out, "record", &schema_record, records[i], &record,
                         err))
            return err_prefix(err, "record %zu of the journal", i);
    add_blobs(out, &recording->blobs);
    if (recording->result.len > 0 &&
        !add_message(out, "result", &schema_result, recording->result, &result,
                     err))
        return err_prefix(err, "the result");
    return buf_ok(out) ||
           err_set(err, ERR_REJECT, "too_large",
                   "the recording is larger than %zu bytes", out->max);
}

/* --- reading -------------------------------------------------------------- */

struct recording_reader {
    struct recording *recording;
    struct arena *arena;
    size_t room; /* for records */
    size_t blob_room;
    size_t blob_bytes; /* of all of them */
    bool begun;        /* it has said what it is */
};

static bool bad_line(struct err *err, const char *why)
{
    return err_set(err, ERR_REJECT, "bad_message", "%s", why);
}

static bool recording_read_head(struct recording_reader *reader,
                                const json_t *json, struct err *err)
{
    json_int_t v = json_integer_value(json_object_get(json, "v"));

    if (v != RECORDING_VERSION)
        return err_set(err, ERR_REJECT, "unsupported_version",
                       "a recording of version %lld, not %d", (long long)v,
                       RECORDING_VERSION);
    const json_t *id = json_object_get(json, "job");
    struct view text = { json_string_value(id), json_string_length(id) };

    if (!id_parse(text, NULL))
        return bad_line(err, "\"job\" must be the id of a job");
    reader->recording->id = arena_copy(reader->arena, text);
    reader->begun = true;
    return true;
}

/* Reads one message and encodes it again, into *bytes. room: memory for the
 * schema's struct. */
static bool read_message(struct recording_reader *reader,
                         const struct schema *schema, const json_t *json,
                         void *room, struct view *bytes, struct err *err)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_RECORDING_BYTES };
    CLEANUP(arena_finish) struct arena arena = { 0 };

    if (!json_to_message(schema, json, room, &arena, NULL, err) ||
        !message_encode(schema, room, &out, err))
        return false;
    *bytes = arena_copy(reader->arena, buf_view(&out));
    return true;
}

static bool recording_read_job(struct recording_reader *reader,
                               const json_t *json, struct err *err)
{
    struct job job;

    if (reader->recording->body.len > 0)
        return bad_line(err, "a second job");
    return read_message(reader, &schema_job, json, &job,
                        &reader->recording->body, err);
}

static bool read_body(struct recording_reader *reader, const json_t *json,
                      struct err *err)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_RECORDING_BYTES };
    const json_t *text = json_object_get(json, "base64");

    if (reader->recording->body.len > 0)
        return bad_line(err, "a second job");
    if (!json_is_string(text) ||
        !base64_decode(
            (struct view){ json_string_value(text), json_string_length(text) },
            &bytes))
        return bad_line(err, "body must be {\"base64\": \"...\"}");
    reader->recording->body = arena_copy(reader->arena, buf_view(&bytes));
    return true;
}

/* A new item at the end of the list, with room for size bytes. An arena cannot
 * grow memory in place: the list is copied to twice the room each time, and the
 * old one stays until the arena is finished. */
static void *new_item(struct recording_reader *reader, struct list *list,
                      size_t *room, size_t size)
{
    if (list->count == *room) {
        const void *before = list->items;

        *room = *room > 0 ? 2 * *room : 16;
        list->items = arena_alloc(reader->arena, *room * size);
        if (list->count > 0)
            memcpy(list->items, before, list->count * size);
    }
    return (char *)list->items + list->count++ * size;
}

static bool read_record(struct recording_reader *reader, const json_t *json,
                        struct err *err)
{
    struct record record;
    struct view *bytes = new_item(reader, &reader->recording->records,
                                  &reader->room, sizeof(*bytes));

    return read_message(reader, &schema_record, json, &record, bytes, err);
}

static bool is_named_by(struct view name, struct view bytes)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int len = 0;

    EVP_Digest(bytes.data, bytes.len, hash, &len, EVP_sha256(), NULL);
    for (size_t i = 0; i < len; i++)
        if (name.data[2 * i] != digits[hash[i] >> 4] ||
            name.data[2 * i + 1] != digits[hash[i] & 15])
            return false;
    return true;
}

/* Whether one more blob, of size bytes, keeps the bounds. */
static bool recording_has_room(const struct recording_reader *reader,
                               struct view name, size_t size, struct err *err)
{
    size_t count = reader->recording->blobs.count;
    size_t all = reader->blob_bytes + size;

    if (count == MAX_RECORDED_BLOBS)
        return err_set(err, ERR_REJECT, "too_large",
                       "blob %.*s: %zu blobs, a recording has at most %d",
                       VIEW_ARG(name), count + 1, MAX_RECORDED_BLOBS);
    return all <= MAX_RECORDED_BLOB_BYTES ||
           err_set(err, ERR_REJECT, "too_large",
                   "blob %.*s: %zu bytes of blobs, a recording has at most %d",
                   VIEW_ARG(name), all, MAX_RECORDED_BLOB_BYTES);
}

static bool read_blob(struct recording_reader *reader, const json_t *json,
                      struct err *err)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_RECORDING_BYTES };
    const json_t *text = json_object_get(json, "base64");
    const json_t *name = json_object_get(json, "name");
    struct view of = { json_string_value(name), json_string_length(name) };
    struct view base64 = { json_string_value(text), json_string_length(text) };

    if (!id_is_sha256(of) || !json_is_string(text) ||
        !base64_decode(base64, &bytes))
        return bad_line(err, "blob must be {\"name\": its SHA-256, "
                             "\"base64\": \"...\"}");
    if (!recording_has_room(reader, of, bytes.len, err))
        return false;
    if (!is_named_by(of, buf_view(&bytes)))
        return err_set(err, ERR_REJECT, "bad_message",
                       "blob %.*s: its bytes have another SHA-256",
                       VIEW_ARG(of));
    reader->blob_bytes += bytes.len;
    struct recorded_blob *blob = new_item(reader, &reader->recording->blobs,
                                          &reader->blob_room, sizeof(*blob));

    blob->name = arena_copy(reader->arena, of);
    blob->bytes = arena_copy(reader->arena, buf_view(&bytes));
    return true;
}

static bool recording_read_result(struct recording_reader *reader,
                                  const json_t *json, struct err *err)
{
    struct result result;

    if (reader->recording->result.len > 0)
        return bad_line(err, "a second result");
    return read_message(reader, &schema_result, json, &result,
                        &reader->recording->result, err);
}

/* The kinds of lines. The first one must come first, and says that the file is
 * a recording; the others may come in any order. */
static const struct {
    const char *name;
    bool (*read)(struct recording_reader *reader, const json_t *json,
                 struct err *err);
} kinds[] = {
    { "recording", recording_read_head },
    { "job", recording_read_job },
    { "body", read_body },
    { "record", read_record },
    { "blob", read_blob },
    { "result", recording_read_result },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool read_member(struct recording_reader *reader, const json_t *line,
                        struct err *err)
{
    for (size_t i = 0; i < KINDS; i++) {
        const json_t *value = json_object_get(line, kinds[i].name);

        if (!value || json_object_size(line) != 1)
            continue;
        if (!reader->begun && i > 0)
            return bad_line(err, "the first line must be {\"recording\": ...}");
        return kinds[i].read(reader, value, err);
    }
    return bad_line(err, "must be an object with one member: recording, job, "
                         "body, record, blob or result");
}

static bool recording_read_line(struct recording_reader *reader,
                                struct view text, struct err *err)
{
    json_error_t fault;
    json_t *line = json_loadb(text.data, text.len,
                              JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &fault);
    bool ok;

    if (!line)
        return err_set(err, ERR_REJECT, "bad_message", "at byte %d: %.100s",
                       fault.position, fault.text);
    ok = read_member(reader, line, err);
    json_decref(line);
    return ok;
}

static struct view recording_next_line(struct view *rest)
{
    const char *end = memchr(rest->data, '\n', rest->len);
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    size_t used = end ? len + 1 : len;
    struct view line = { rest->data, len };

    *rest = (struct view){ rest->data + used, rest->len - used };
    return line;
}

bool recording_read(struct recording *recording, struct view text,
                    struct arena *arena, struct err *err)
{
    struct recording_reader reader = { .recording = recording, .arena = arena };

    *recording = (struct recording){ 0 };
    if (text.len > MAX_RECORDING_BYTES)
        return err_set(err, ERR_REJECT, "too_large",
                       "%zu bytes, a recording has at most %d", text.len,
                       MAX_RECORDING_BYTES);
    for (size_t number = 1; text.len > 0; number++) {
        struct view line = view_trimmed(recording_next_line(&text));

        if (line.len > 0 && !recording_read_line(&reader, line, err))
            return err_prefix(err, "line %zu", number);
    }
    return recording->body.len > 0 ||
           err_set(err, ERR_REJECT, "bad_message",
                   "no job: a recording has a line {\"job\": {...}}");
}

struct view recording_blob(const struct recording *recording, struct view name)
{
    const struct recorded_blob *blobs = recording->blobs.items;

    for (size_t i = 0; i < recording->blobs.count; i++)
        if (view_equal(blobs[i].name, name))
            return blobs[i].bytes;
    return (struct view){ 0 };
}
