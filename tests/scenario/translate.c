/* translate.c - a message from MessagePack to JSON, or back: for tests in
 * another language.
 *
 *   translate decode SCHEMA < bytes    prints JSON
 *   translate encode SCHEMA < JSON     prints bytes
 *
 * A message that is refused: {"code": ..., "text": ...} on stderr, exit 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"
#include "schemas/message/limits.h"
#include "tests/unit/message/schemas.h"

static const struct schema *find_schema(const char *name)
{
    for (size_t i = 0; i < ALL_SCHEMAS; i++) {
        if (strcmp(all_schemas[i]->name, name) == 0)
            return all_schemas[i];
    }
    return NULL;
}

static void read_all(struct buf *in)
{
    char *to;

    while ((to = buf_reserve(in, 4096)) != NULL) {
        size_t got = fread(to, 1, 4096, stdin);

        if (got == 0)
            return;
        in->len += got;
    }
}

/* A job is decoded as a consumer does. */
static bool decode(const struct schema *schema, struct view in, void *message,
                   struct arena *arena, struct err *err)
{
    json_t *json;

    if (schema == &schema_job
            ? !job_decode(message, in, arena, err)
            : !message_decode(schema, in, message, arena, err))
        return false;
    json = json_from_message(schema, message);
    json_dumpf(json, stdout, JSON_COMPACT);
    json_decref(json);
    return true;
}

static bool encode(const struct schema *schema, struct view in, void *message,
                   struct arena *arena, struct err *err)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_FRAME_BYTES };
    json_t *json = json_loadb(in.data, in.len, JSON_REJECT_DUPLICATES, NULL);
    bool ok = json != NULL;

    if (!ok)
        return err_set(err, ERR_REJECT, "bad_message", "not JSON");
    ok = json_to_message(schema, json, message, arena, NULL, err) &&
         message_encode(schema, message, &out, err);
    json_decref(json);
    fwrite(out.data, 1, out.len, stdout);
    return ok;
}

int main(int argc, char **argv)
{
    CLEANUP(buf_finish) struct buf in = { .max = MAX_FRAME_BYTES };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct schema *schema = argc == 3 ? find_schema(argv[2]) : NULL;
    struct err err = { 0 };
    void *message;
    bool ok;

    if (schema == NULL)
        return 64;
    read_all(&in);
    message = arena_alloc(&arena, schema->size);
    ok = strcmp(argv[1], "decode") == 0
             ? decode(schema, buf_view(&in), message, &arena, &err)
             : encode(schema, buf_view(&in), message, &arena, &err);
    if (!ok) {
        json_t *json =
            json_pack("{s:s, s:s}", "code", err.code, "text", err.text);

        json_dumpf(json, stderr, JSON_COMPACT);
        json_decref(json);
    }
    return ok ? 0 : 1;
}
