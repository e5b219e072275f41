/* secret.c - keeps secrets out of sentences and answers. */
#include "consumer/model/secret.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"

void secret_hide(char *text, const char *secret)
{
    size_t len = secret ? strlen(secret) : 0;
    size_t end;

    for (char *at = text; len > 0 && (at = strstr(at, secret)); at += len)
        memset(at, '*', len);
    end = strlen(text);
    for (size_t part = len < end ? len : end; part > 3; part--)
        if (strncmp(text + end - part, secret, part) == 0)
            memset(text + end - part, '*', part);
}

bool secret_is_named(const char *name)
{
    static const char *const parts[] = { "auth",     "cookie", "key",
                                         "token",    "secret", "password",
                                         "signature" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcasestr(name, parts[i]))
            return true;
    return false;
}

void secret_unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; text++) {
        char digits[3] = "";
        if (*text == '%' && isxdigit((unsigned char)text[1]) &&
            isxdigit((unsigned char)text[2])) {
            memcpy(digits, text + 1, 2);
            *to++ = (char)strtoul(digits, NULL, 16);
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

void secret_hide_query(char *text, const char *query)
{
    char *copy = !query ? NULL : view_dup(view_of(query)), *rest = copy;
    for (char *name; (name = strsep(&rest, "&"));) {
        char *value = strchr(name, '=');
        if (!value)
            continue;
        *value++ = '\0';
        if (!secret_is_named(name) || strlen(value) < SECRET_LEAST)
            continue;
        secret_hide(text, value);
        secret_unescape(value);
        secret_hide(text, value);
    }
    free(copy);
}

/* ------------------------------------------------------------------ answers */

/* The first occurrence of any secret; NULL: none. len: of that secret. */
static const char *secret_find(const char *data, size_t size,
                               char *const *secrets, size_t *len)
{
    const char *first = NULL;
    for (; size > 0 && *secrets; secrets++) {
        size_t one = strlen(*secrets);
        const char *at =
            one < SECRET_LEAST ? NULL : memmem(data, size, *secrets, one);
        if (at && (!first || at < first)) {
            first = at;
            *len = one;
        }
    }
    return first;
}

static bool tells(const char *data, size_t size, char *const *secrets)
{
    size_t len;
    return secret_find(data, size, secrets, &len);
}

/* A copy with the secrets starred out, of the same length; free() it. */
static char *starred(const char *data, size_t size, char *const *secrets)
{
    char *copy = view_dup((struct view){ data, size });
    size_t start = 0, len;
    const char *at;
    while ((at = secret_find(copy + start, size - start, secrets, &len))) {
        start = (size_t)(at - copy);
        memset(copy + start, '*', len);
        start += len;
    }
    return copy;
}

static bool value_tells(const json_t *value, char *const *secrets)
{
    CLEANUP(cleanup_free) char *text = NULL;
    const char *name;
    const json_t *member;
    size_t i;
    if (json_is_string(value))
        return tells(json_string_value(value), json_string_length(value),
                     secrets);
    json_array_foreach(value, i, member)
        if (value_tells(member, secrets))
            return true;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
        if (tells(name, strlen(name), secrets) || value_tells(member, secrets))
            return true;
    if (!json_is_number(value))
        return false;
    text = json_dumps(value, JSON_ENCODE_ANY);
    return text && tells(text, strlen(text), secrets);
}

static json_t *masked(const json_t *value, char *const *secrets);

static json_t *masked_text(const char *data, size_t size, char *const *secrets)
{
    CLEANUP(cleanup_free) char *text = starred(data, size, secrets);
    return json_stringn_nocheck(text, size);
}

static json_t *masked_object(json_t *value, char *const *secrets)
{
    json_t *object = json_object(), *member;
    const char *name;
    json_object_foreach(value, name, member) {
        CLEANUP(cleanup_free)
        char *shown = starred(name, strlen(name), secrets);
        json_object_set_new_nocheck(object, shown, masked(member, secrets));
    }
    return object;
}

static json_t *masked_array(const json_t *value, char *const *secrets)
{
    json_t *array = json_array();
    const json_t *member;
    size_t i;
    json_array_foreach(value, i, member)
        json_array_append_new(array, masked(member, secrets));
    return array;
}

static json_t *masked(const json_t *value, char *const *secrets)
{
    CLEANUP(cleanup_free) char *text = NULL;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_t *mine = (json_t *)(uintptr_t)value;
    if (json_is_object(value))
        return masked_object(mine, secrets);
    if (json_is_array(value))
        return masked_array(value, secrets);
    if (json_is_string(value))
        return masked_text(json_string_value(value), json_string_length(value),
                           secrets);
    if (!json_is_number(value) || !value_tells(value, secrets))
        return json_incref(mine);
    text = json_dumps(value, JSON_ENCODE_ANY);
    return masked_text(text, strlen(text), secrets);
}

json_t *secret_mask_json(json_t *value, struct view body, char *const *secrets)
{
    json_t *copy;
    if (!value || !secrets ||
        (!tells(body.data, body.len, secrets) && !value_tells(value, secrets)))
        return value;
    copy = masked(value, secrets);
    json_decref(value);
    return copy;
}
