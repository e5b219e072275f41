/* command.c - one Redis command being put together. */
#include "schemas/redis/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command_text {
    struct command_text *next;
    char text[];
};

void command_init(struct command *command, const char *name)
{
    command->argc = 0;
    command->room = COMMAND_INLINE_ARGS;
    command->argv = command->inline_argv;
    command->argvlen = command->inline_argvlen;
    command->used_numbers = 0;
    command->used_scratch = false;
    command->more_texts = NULL;
    command_add_text(command, name);
}

void command_finish(struct command *command)
{
    if (!command)
        return;
    while (command->more_texts) {
        struct command_text *text = command->more_texts;
        command->more_texts = text->next;
        free(text);
    }
    if (command->argv == command->inline_argv)
        return;
    free((void *)command->argv);
    free(command->argvlen);
    command->argv = NULL;
    command->argvlen = NULL;
}

/* Twice the room for arguments, on the heap from the first time on. */
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

static char *more_room(struct command *command, size_t size)
{
    struct command_text *text = malloc(sizeof(*text) + size);

    if (!text)
        abort();
    text->next = command->more_texts;
    command->more_texts = text;
    return text->text;
}

/* The first one is most often a key, and needs no memory of its own. */
static char *copy_room(struct command *command, size_t size)
{
    if (command->used_scratch || size > sizeof(command->scratch[0]))
        return more_room(command, size);
    command->used_scratch = true;
    return command->scratch[0];
}

void command_add_copy(struct command *command, struct view argument)
{
    char *text = copy_room(command, argument.len);

    if (argument.len > 0)
        memcpy(text, argument.data, argument.len);
    command_add(command, (struct view){ text, argument.len });
}

void command_add_text(struct command *command, const char *argument)
{
    command_add(command, view_of(argument));
}

static char *number_room(struct command *command)
{
    if (command->used_numbers < COMMAND_NUMBERS)
        return command->numbers[command->used_numbers++];
    return more_room(command, COMMAND_DIGITS);
}

void command_add_uint(struct command *command, uint64_t number)
{
    char *text = number_room(command);
    int len = snprintf(text, COMMAND_DIGITS, "%" PRIu64, number);

    command_add(command, (struct view){ text, (size_t)len });
}

size_t command_copy_bytes(const struct command *command)
{
    size_t count = (size_t)command->argc;
    size_t bytes = count * (sizeof(char *) + sizeof(size_t));

    for (size_t i = 0; i < count; i++)
        bytes += command->argvlen[i];
    return bytes;
}

/* The array of pointers, that of lengths, then the bytes. */
void command_copy(struct command *copy, const struct command *command,
                  void *room)
{
    size_t count = (size_t)command->argc;
    const char **argv = room;
    size_t *lengths = (size_t *)(argv + count);
    char *at = (char *)(lengths + count);

    for (size_t i = 0; i < count; i++) {
        argv[i] = at;
        lengths[i] = command->argvlen[i];
        memcpy(at, command->argv[i], lengths[i]);
        at += lengths[i];
    }
    copy->argc = command->argc;
    copy->argv = argv;
    copy->argvlen = lengths;
}
