/* command.c - one Redis command being put together. */
#include "schemas/redis/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command_number {
    struct command_number *next;
    char text[COMMAND_DIGITS];
};

void command_init(struct command *command, const char *name)
{
    command->argc = 0;
    command->room = COMMAND_INLINE_ARGS;
    command->argv = command->inline_argv;
    command->argvlen = command->inline_argvlen;
    command->used_numbers = 0;
    command->more_numbers = NULL;
    command_add_text(command, name);
}

void command_finish(struct command *command)
{
    if (!command)
        return;
    while (command->more_numbers) {
        struct command_number *number = command->more_numbers;
        command->more_numbers = number->next;
        free(number);
    }
    if (command->argv == command->inline_argv)
        return;
    free((void *)command->argv);
    free(command->argvlen);
    command->argv = NULL;
    command->argvlen = NULL;
}

static void grow(struct command *command)
{
    bool is_inline = command->argv == command->inline_argv;
    size_t room = (size_t)command->room * 2;
    const char **argv =
        realloc(is_inline ? NULL : (void *)command->argv, room * sizeof(*argv));
    size_t *argvlen =
        realloc(is_inline ? NULL : command->argvlen, room * sizeof(*argvlen));

    if (!argv || !argvlen)
        abort();
    if (is_inline) {
        memcpy((void *)argv, (const void *)command->inline_argv,
               sizeof(command->inline_argv));
        memcpy(argvlen, command->inline_argvlen,
               sizeof(command->inline_argvlen));
    }
    command->argv = argv;
    command->argvlen = argvlen;
    command->room = (int)room;
}

void command_add(struct command *command, struct view argument)
{
    if (command->argc == command->room)
        grow(command);
    /* hiredis wants a pointer even to no bytes. */
    command->argv[command->argc] = argument.data ? argument.data : "";
    command->argvlen[command->argc] = argument.len;
    command->argc++;
}

void command_add_copy(struct command *command, struct view argument)
{
    if (argument.len > sizeof(command->scratch[0]))
        abort();
    memcpy(command->scratch[0], argument.data, argument.len);
    command_add(command, (struct view){ command->scratch[0], argument.len });
}

void command_add_text(struct command *command, const char *argument)
{
    command_add(command, view_of(argument));
}

static char *number_room(struct command *command)
{
    if (command->used_numbers < COMMAND_NUMBERS)
        return command->numbers[command->used_numbers++];

    struct command_number *number = malloc(sizeof(*number));
    if (!number)
        abort();
    number->next = command->more_numbers;
    command->more_numbers = number;
    return number->text;
}

void command_add_uint(struct command *command, uint64_t number)
{
    char *text = number_room(command);
    int len = snprintf(text, COMMAND_DIGITS, "%" PRIu64, number);

    command_add(command, (struct view){ text, (size_t)len });
}
