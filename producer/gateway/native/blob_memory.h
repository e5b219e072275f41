/* blob_memory.h - a bound on the memory of all files that come in or go out.
 *
 * A file is twice in memory while it travels: here, and in what is read from or
 * written to a socket. So it counts twice. */
#ifndef PRODUCER_GATEWAY_BLOB_MEMORY_H
#define PRODUCER_GATEWAY_BLOB_MEMORY_H

#include "producer/gateway/gateway.h"
#include "schemas/message/err.h"

struct blob_memory {
    struct gateway *gateway;
    uint64_t bytes; /* that this file has taken */
};

/* Takes memory for so many more bytes of a file. False: too many files travel
 * already (blob_memory_full, 503). */
bool blob_memory_take(struct blob_memory *memory, uint64_t bytes,
                      struct err *err);
void blob_memory_give(struct blob_memory *memory); /* all of it */

#endif
