/* blob_memory.c - a bound on the memory of all files that come in or go out. */
#include "producer/gateway/native/blob_memory.h"

bool blob_memory_take(struct blob_memory *memory, uint64_t bytes,
                      struct err *err)
{
    struct gateway *gateway = memory->gateway;
    uint64_t most = gateway->settings.blob_bytes;

    if (2 * bytes > most - gateway->blob_bytes)
        return err_set(err, ERR_RETRY, "blob_memory_full",
                       "files that are under way use all %llu bytes of "
                       "--blob-memory",
                       (unsigned long long)most);
    memory->bytes += 2 * bytes;
    gateway->blob_bytes += 2 * bytes;
    return true;
}

void blob_memory_give(struct blob_memory *memory)
{
    if (memory->gateway)
        memory->gateway->blob_bytes -= memory->bytes;
    memory->bytes = 0;
}
