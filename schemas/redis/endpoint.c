/* endpoint.c - how model endpoints are called in the keys of the fleet. */
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
        if (text[i] == '\0' || strchr("0123456789abcdef", text[i]) == NULL)
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
    return view_is_utf8(*name) && memchr(name->data, '\0', name->len) == NULL;
}

struct endpoint_field endpoint_field_make(const struct endpoint_id *id,
                                          const char *word)
{
    struct endpoint_field field;

    snprintf(field.text, sizeof(field.text), "%s %s", id->text, word);
    return field;
}

/* The word is behind the last space, as names may have some. */
bool endpoint_field_read(struct view field, struct view *id, struct view *word)
{
    const char *space =
        field.len > 0 ? memrchr(field.data, ' ', field.len) : NULL;

    if (space == NULL)
        return false;
    size_t len = (size_t)(space - field.data);
    *id = (struct view){ field.data, len };
    *word = (struct view){ space + 1, field.len - len - 1 };
    return true;
}
