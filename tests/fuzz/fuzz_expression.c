/* fuzz_expression.c - whatever an expression is, it comes to a number that is
 * JSON, or to a sentence. */
#include <jansson.h>

#include "consumer/reader/expression.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(buf_finish) struct buf out;
    struct err err = { .kind = ERR_NONE };
    buf_init(&out, 100);
    bool good = expression_evaluate((struct view){ (const char *)data, size },
                                    &out, &err);
    MUST(good || (err.kind == ERR_REJECT && *err.text != '\0'));
    if (!good)
        return 0;
    json_t *value = json_loadb(out.data, out.len, JSON_DECODE_ANY, NULL);
    MUST(json_is_number(value));
    json_decref(value);
    return 0;
}
