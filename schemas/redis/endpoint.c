/* endpoint.c - what consumers share about model endpoints: names and commands.
 */
#include "schemas/redis/endpoint.h"

#include <stdio.h>
#include <string.h>

const char *const endpoint_count_names[ENDPOINT_COUNTS] = {
    [COUNT_CALLS] = "calls",
    [COUNT_PAID_TWICE] = "paid_twice",
    [COUNT_RECOVERED] = "recovered",
    [COUNT_FAILURES] = "failures",
};
const char *const endpoint_note_names[ENDPOINT_NOTES] = {
    [NOTE_HOST] = "host",
    [NOTE_MODEL] = "model",
    [NOTE_ANSWERED_AT] = "answered_at",
    [NOTE_FAILED_AT] = "failed_at",
    [NOTE_ERROR_CODE] = "error_code",
    [NOTE_ERROR] = "error",
};

struct endpoint_id endpoint_id_make(struct view name, const char *hash)
{
    struct endpoint_id id;

    name = view_head(name, ENDPOINT_NAME_BYTES);
    snprintf(id.text, sizeof(id.text), "%.*s#%.*s", VIEW_ARG(name),
             ENDPOINT_DIGITS, hash);
    return id;
}

static bool are_digits(const char *text)
{
    for (int i = 0; i < ENDPOINT_DIGITS; i++)
        if (text[i] == '\0' || !strchr("0123456789abcdef", text[i]))
            return false;
    return true;
}

bool endpoint_id_read(struct view id, struct view *name)
{
    const size_t mark = 1 + ENDPOINT_DIGITS;

    if (id.len <= mark || id.len > ENDPOINT_ID_BYTES ||
        id.data[id.len - mark] != '#' ||
        !are_digits(id.data + id.len - ENDPOINT_DIGITS))
        return false;
    *name = (struct view){ id.data, id.len - mark };
    return view_is_utf8(*name) && !memchr(name->data, '\0', name->len);
}

/* The word stands behind the last space, because names may have spaces. */
bool endpoint_field_read(struct view field, struct view *id, struct view *word)
{
    const char *space =
        field.len > 0 ? memrchr(field.data, ' ', field.len) : NULL;

    if (!space)
        return false;
    size_t len = (size_t)(space - field.data);
    *id = (struct view){ field.data, len };
    *word = (struct view){ space + 1, field.len - len - 1 };
    return true;
}

/* --- commands ------------------------------------------------------------- */

static void endpoint_begin_command(struct command *command, const char *name,
                                   const struct names *names, const char *what)
{
    struct key key = names_of_fleet(names, what);

    command_init(command, name);
    command_add_copy(command, key_view(&key));
}

void endpoint_begin(struct command *command)
{
    command_init(command, "MULTI");
}

void endpoint_end(struct command *command)
{
    command_init(command, "EXEC");
}

void endpoint_add_wait(struct command *command, const struct names *names,
                       const struct endpoint_id *id, uint64_t until)
{
    endpoint_begin_command(command, "ZADD", names, "waits");
    command_add_text(command, "GT");
    command_add_uint(command, until);
    command_add_text(command, id->text);
}

void endpoint_drop_waits(struct command *command, const struct names *names,
                         uint64_t now)
{
    endpoint_begin_command(command, "ZREMRANGEBYSCORE", names, "waits");
    command_add_text(command, "-inf");
    command_add_uint(command, now);
}

void endpoint_drop_wait(struct command *command, const struct names *names,
                        struct view id)
{
    endpoint_begin_command(command, "ZREM", names, "waits");
    command_add(command, id);
}

void endpoint_keep_waits(struct command *command, const struct names *names)
{
    endpoint_begin_command(command, "PEXPIRE", names, "waits");
    command_add_uint(command, ENDPOINT_LONGEST_MS + ENDPOINT_DAY_MS);
}

void endpoint_ask_waits(struct command *command, const struct names *names)
{
    endpoint_begin_command(command, "ZRANGE", names, "waits");
    command_add_uint(command, 0);
    command_add_uint(command, ENDPOINT_MOST_WAITS - 1);
    command_add_text(command, "REV");
    command_add_text(command, "WITHSCORES");
}

static void add_field(struct command *command, const struct endpoint_id *id,
                      const char *word)
{
    char field[ENDPOINT_ID_BYTES + 32];
    int len = snprintf(field, sizeof(field), "%s %s", id->text, word);

    command_add_copy(command, (struct view){ field, (size_t)len });
}

void endpoint_add_count(struct command *command, const struct names *names,
                        const struct endpoint_id *id, enum endpoint_count what,
                        uint64_t count)
{
    endpoint_begin_command(command, "HINCRBY", names, "counts");
    add_field(command, id, endpoint_count_names[what]);
    command_add_uint(command, count);
}

void endpoint_set_notes(struct command *command, const struct names *names,
                        const struct endpoint_id *id,
                        const struct view notes[ENDPOINT_NOTES])
{
    endpoint_begin_command(command, "HSET", names, "counts");
    for (size_t i = 0; i < ENDPOINT_NOTES; i++)
        if (notes[i].len > 0) {
            add_field(command, id, endpoint_note_names[i]);
            command_add(command, notes[i]);
        }
}

void endpoint_keep_counts(struct command *command, const struct names *names)
{
    endpoint_begin_command(command, "PEXPIRE", names, "counts");
    command_add_uint(command, 30ull * ENDPOINT_DAY_MS);
}
