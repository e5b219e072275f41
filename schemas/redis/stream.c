/* stream.c - how a consumer waits for entries of the work streams. */
#include "schemas/redis/stream.h"

void stream_make_group(struct command *command, const struct key *stream)
{
    command_init(command, "XGROUP");
    command_add_text(command, "CREATE");
    command_add_copy(command, key_view(stream));
    command_add_text(command, NAMES_GROUP);
    command_add_text(command, "0");
    command_add_text(command, "MKSTREAM");
}

void stream_wait(struct command *command, const char *consumer,
                 const struct key *streams, size_t count, uint64_t block_ms)
{
    command_init(command, "XREADGROUP");
    command_add_text(command, "GROUP");
    command_add_text(command, NAMES_GROUP);
    command_add_text(command, consumer);
    command_add_text(command, "COUNT");
    command_add_uint(command, 1);
    command_add_text(command, "BLOCK");
    command_add_uint(command, block_ms);
    command_add_text(command, "STREAMS");
    for (size_t i = 0; i < count; i++)
        command_add(command, key_view(&streams[i]));
    for (size_t i = 0; i < count; i++)
        command_add_text(command, ">");
}

void stream_ask_client(struct command *command)
{
    command_init(command, "CLIENT");
    command_add_text(command, "ID");
}

void stream_unblock(struct command *command, uint64_t client)
{
    command_init(command, "CLIENT");
    command_add_text(command, "UNBLOCK");
    command_add_uint(command, client);
}
