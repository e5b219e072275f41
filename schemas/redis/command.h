/* command.h - one Redis command being put together.
 *
 * command_init() ... command_add...() ... send ... command_finish(). Arguments
 * are borrowed until the command has been sent; numbers and copies are written
 * into the command itself, so it must not be moved. Most commands need no
 * memory beside the struct. */
#ifndef SCHEMAS_REDIS_COMMAND_H
#define SCHEMAS_REDIS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/message/view.h"

enum { COMMAND_INLINE_ARGS = 24, COMMAND_NUMBERS = 16, COMMAND_DIGITS = 24 };

struct command {
    int argc;
    int room;          /* of argv and argvlen */
    const char **argv; /* as hiredis' ...Argv functions take them; the inline
                          ones until there are more arguments than these */
    size_t *argvlen;
    const char *inline_argv[COMMAND_INLINE_ARGS];
    size_t inline_argvlen[COMMAND_INLINE_ARGS];
    char numbers[COMMAND_NUMBERS][COMMAND_DIGITS];
    int used_numbers;
    bool used_scratch;               /* scratch[0] holds a copy */
    struct command_text *more_texts; /* numbers and copies for which there is no
                                        room inside; on the heap */
    char scratch[2][1024]; /* 0: the first command_add_copy(), most often a key;
                              1: texts that session.c puts together */
};

void command_init(struct command *command, const char *name);
void command_finish(struct command *command);
void command_add(struct command *command, struct view argument);
void command_add_text(struct command *command, const char *argument);
/* Copies the argument, for one that does not live as long as the command. */
void command_add_copy(struct command *command, struct view argument);
void command_add_uint(struct command *command, uint64_t number);

/* Copies a command with all of its arguments, to be sent later. room: so many
 * bytes, aligned as malloc() does; the copy is valid as long as room, and needs
 * no command_finish(). */
size_t command_copy_bytes(const struct command *command);
void command_copy(struct command *copy, const struct command *command,
                  void *room);

#endif
