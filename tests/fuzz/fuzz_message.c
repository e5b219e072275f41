/* fuzz_message.c - any bytes as any message: what decodes can be encoded, and
 * then stays the same. */
#include <string.h>

#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/message/schemas.h"

static void go_round(const struct schema *schema, struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf first = { .max = MAX_FRAME_BYTES };
    CLEANUP(buf_finish) struct buf second = { .max = MAX_FRAME_BYTES };
    void *message = arena_alloc(&arena, schema->size);
    struct err err = { .kind = ERR_NONE };

    if (schema->fields[0].name == NULL)
        return; /* a plain value, not a message */
    if (!message_decode(schema, bytes, message, &arena, &err)) {
        MUST(err.kind == ERR_REJECT);
        MUST(err.code[0] != '\0' && err.text[0] != '\0');
        MUST(view_is_utf8(view_of(err.text)));
        return;
    }
    if (!message_encode(schema, message, &first, &err)) {
        /* Ours may be longer by what is always written. */
        MUST(strcmp(err.code, "too_large") == 0);
        MUST(bytes.len + 64 > schema->max_bytes);
        return;
    }
    MUST(message_decode(schema, buf_view(&first), message, &arena, &err));
    MUST(message_encode(schema, message, &second, &err));
    MUST(view_equal(buf_view(&first), buf_view(&second)));
}

static void decode_job(struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct job job;
    struct err err;

    if (!job_decode(&job, bytes, &arena, &err)) {
        MUST(view_is_utf8(view_of(err.text)));
        return;
    }
    MUST(id_parse(job.id, NULL));
    MUST(job.kind == JOB_CODE ? job.cells.count > 0
                              : job.messages == NULL || job.prompt.len == 0);
    MUST(job.kind != JOB_CONVERSATION || job.messages != NULL ||
         job.prompt.len > 0 || job.files.count > 0);
    MUST(job.functions.count == 0 ||
         (job.kind == JOB_CONVERSATION && job.mode == MODE_TOOLS));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view bytes = { (const char *)data, size };

    for (size_t i = 0; i < ALL_SCHEMAS; i++)
        go_round(all_schemas[i], bytes);
    decode_job(bytes);
    return 0;
}
