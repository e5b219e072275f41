/* fuzz_schema.c - whatever a job calls a JSON Schema, and whatever a model
 * answers: it is checked in bounded work, and what is refused has a sentence.
 *
 * The schema, a NUL, the answer. */
#include <string.h>

#include "consumer/conversation/answer.h"
#include "schemas/json/output_schema.h"
#include "tests/fuzz/fuzz.h"

static void check_answer(const json_t *schema, struct view text)
{
    struct err err = { .kind = ERR_NONE };
    json_t *value = answer_read(schema, text, &err);
    if (value != NULL)
        MUST(output_schema_fits(schema, value, &err));
    else
        MUST(err.kind == ERR_REJECT && *err.text != '\0');
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *end = size > 0 ? memchr(text, '\0', size) : NULL;
    size_t len = end != NULL ? (size_t)(end - text) : size;
    json_t *schema = json_loadb(text, len, JSON_DECODE_ANY, NULL);
    struct err err = { .kind = ERR_NONE };
    if (schema == NULL)
        return 0;
    if (!output_schema_check(schema, &err))
        MUST(err.kind == ERR_REJECT && *err.text != '\0');
    else if (end != NULL)
        check_answer(schema, (struct view){ end + 1, size - len - 1 });
    json_decref(schema);
    return 0;
}
