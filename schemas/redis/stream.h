/* stream.h - how a consumer waits for entries of the work streams.
 *
 * The read blocks in Redis, so it needs a connection of its own. To end it
 * early, another connection unblocks that connection by its CLIENT ID. */
#ifndef SCHEMAS_REDIS_STREAM_H
#define SCHEMAS_REDIS_STREAM_H

#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

/* Makes the group that all consumers of the stream share, and the stream if
 * there is none. The group begins at the first entry, because entries from
 * before the group are jobs, too. The error BUSYGROUP says that there is one
 * already. */
void stream_make_group(struct command *command, const struct key *stream);

/* Reads at most one entry of each stream, and waits up to block_ms for the
 * first one. Borrows the streams and the consumer's name until the command is
 * sent. */
void stream_wait(struct command *command, const char *consumer,
                 const struct key *streams, size_t count, uint64_t block_ms);

/* The reply is the number of this connection. */
void stream_ask_client(struct command *command);
/* Ends the read that waits on the connection of that number. */
void stream_unblock(struct command *command, uint64_t client);

#endif
