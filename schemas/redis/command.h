/* command.h - one Redis command being put together.
 *
 * Arguments are borrowed until the command has been sent; numbers are written
 * into the command itself, so it stays where it is. */
#ifndef SCHEMAS_REDIS_COMMAND_H
#define SCHEMAS_REDIS_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "schemas/message/view.h"

enum { COMMAND_INLINE_ARGS = 24, COMMAND_NUMBERS = 16, COMMAND_DIGITS = 24 };

struct command {
    int argc;
    int room;
    const char **argv; /* what hiredis' ...Argv functions take */
    size_t *argvlen;
    const char *inline_argv[COMMAND_INLINE_ARGS];
    size_t inline_argvlen[COMMAND_INLINE_ARGS];
    char numbers[COMMAND_NUMBERS][COMMAND_DIGITS];
    int used_numbers;
    bool used_scratch;
    struct command_text *more_texts; /* numbers and copies for which there is no
                                        room inside */
    char scratch[2][1024]; /* keys made on the way: a copy, session.c's */
};

void command_init(struct command *command, const char *name);
void command_finish(struct command *command);
void command_add(struct command *command, struct view argument);
void command_add_text(struct command *command, const char *argument);
/* Copies the argument, which may go before the command does. */
void command_add_copy(struct command *command, struct view argument);
void command_add_uint(struct command *command, uint64_t number);

#endif
