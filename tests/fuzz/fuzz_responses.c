/* fuzz_responses.c - any bytes as a reply of OpenAI Responses. */
#include "tests/fuzz/any_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_any_reply(&dialect_responses, data, size);
}
