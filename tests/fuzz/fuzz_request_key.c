/* fuzz_request_key.c - any text as the header Authorization: a key of it is in
 * the text, or in the room for it. */
#include "producer/gateway/request_key.h"
#include "tests/fuzz/fuzz.h"

static bool is_within(struct view part, const char *whole, size_t len)
{
    return part.data >= whole && part.data + part.len <= whole + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view value = { (const char *)data, size };
    struct request_key key;
    struct err err = { .text = "" };

    if (size == 0)
        return 0;
    if (request_key_read(&key, value, VIEW(""), &err))
        MUST(is_within(key.text, value.data, value.len) ||
             is_within(key.text, key.room, sizeof(key.room)));
    else
        MUST(err.text[0]);
    return 0;
}
