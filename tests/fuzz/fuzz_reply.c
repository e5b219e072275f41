/* fuzz_reply.c - any bytes as a reply of chat-completions. */
#include "tests/fuzz/any_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_any_reply(&dialect_chat, data, size);
}
