/* fuzz_anthropic.c - any bytes as a reply of Anthropic Messages. */
#include "tests/fuzz/any_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_any_reply(&dialect_anthropic, data, size);
}
