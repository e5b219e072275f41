/* fuzz_body.c - any JSON as the messages of a conversation, in every dialect.
 */
#include "tests/fuzz/any_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *messages =
        json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);

    if (json_is_array(messages))
        fuzz_requests(messages);
    json_decref(messages);
    return 0;
}
