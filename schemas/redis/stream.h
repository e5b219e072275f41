/* stream.h - how a consumer waits for entries of the work streams.
 *
 * The read waits in Redis, on a connection of its own. Another connection ends
 * it before its time, by the number that Redis gives the one that waits. */
#ifndef SCHEMAS_REDIS_STREAM_H
#define SCHEMAS_REDIS_STREAM_H

#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

/* The group that all consumers of the stream share, from its first entry on:
 * what came before the group is work too. Makes the stream as well. The error
 * BUSYGROUP says that there is one. */
void stream_make_group(struct command *command, const struct key *stream);

/* The next entry of each stream, at most; waits so long for the first one.
 * Borrows the streams and the consumer's name. */
void stream_wait(struct command *command, const char *consumer,
                 const struct key *streams, size_t count, uint64_t block_ms);

/* The reply is the number of this connection. */
void stream_ask_client(struct command *command);
/* Ends the read that waits on the connection of that number. */
void stream_unblock(struct command *command, uint64_t client);

#endif
