/* blob.c - commands for blobs. */
#include "schemas/redis/blob.h"

static void blob_begin_command(struct command *command, const char *name,
                               const struct names *names,
                               unsigned int partition, struct view sha256)
{
    struct key key = names_blob(names, partition, sha256);

    command_init(command, name);
    command_add_copy(command, key_view(&key));
}

void blob_reserve(struct command *command, const struct names *names,
                  unsigned int partition, struct view sha256, uint64_t ttl_ms)
{
    blob_create(command, names, partition, sha256, VIEW(""), ttl_ms);
}

void blob_create(struct command *command, const struct names *names,
                 unsigned int partition, struct view sha256, struct view bytes,
                 uint64_t ttl_ms)
{
    blob_begin_command(command, "SET", names, partition, sha256);
    command_add(command, bytes);
    command_add_text(command, "PX");
    command_add_uint(command, ttl_ms);
    command_add_text(command, "NX");
}

void blob_fill(struct command *command, const struct names *names,
               unsigned int partition, struct view sha256, struct view bytes)
{
    blob_begin_command(command, "SET", names, partition, sha256);
    command_add(command, bytes);
    command_add_text(command, "XX");
    command_add_text(command, "KEEPTTL");
}

void blob_extend(struct command *command, const struct names *names,
                 unsigned int partition, struct view sha256, uint64_t ttl_ms)
{
    blob_begin_command(command, "PEXPIRE", names, partition, sha256);
    command_add_uint(command, ttl_ms);
    command_add_text(command, "GT");
}

void blob_ask(struct command *command, const struct names *names,
              unsigned int partition, struct view sha256)
{
    blob_begin_command(command, "GET", names, partition, sha256);
}

void blob_ask_head(struct command *command, const struct names *names,
                   unsigned int partition, struct view sha256, uint64_t most)
{
    blob_begin_command(command, "GETRANGE", names, partition, sha256);
    command_add_text(command, "0");
    command_add_uint(command, most);
}

void blob_ask_size(struct command *command, const struct names *names,
                   unsigned int partition, struct view sha256)
{
    blob_begin_command(command, "STRLEN", names, partition, sha256);
}
