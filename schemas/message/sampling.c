/* sampling.c - how a job wants its model to write. */
#include "schemas/message/sampling.h"

#include <ctype.h>
#include <string.h>

#include "schemas/message/buf.h"

#define MOST_INTEGER 2147483647.0

static const char *const summaries[] = { "auto", "concise", "detailed", NULL };

static const struct sampling sampling_table[] = {
    { "temperature", SAMPLING_NUMBER, 0, 2, NULL },
    { "top_p", SAMPLING_NUMBER, 0, 1, NULL },
    { "top_k", SAMPLING_INTEGER, 0, MOST_INTEGER, NULL },
    { "min_p", SAMPLING_NUMBER, 0, 1, NULL },
    { "presence_penalty", SAMPLING_NUMBER, -2, 2, NULL },
    { "frequency_penalty", SAMPLING_NUMBER, -2, 2, NULL },
    { "seed", SAMPLING_INTEGER, -MOST_INTEGER, MOST_INTEGER, NULL },
    { "stop", SAMPLING_STOP, 0, 0, NULL },
    { "reasoning_effort", SAMPLING_WORD, 0, 0, NULL },
    { "reasoning_summary", SAMPLING_CHOICE, 0, 0, summaries },
    { "verbosity", SAMPLING_WORD, 0, 0, NULL },
    { "parallel_tool_calls", SAMPLING_BOOL, 0, 0, NULL },
    { NULL, SAMPLING_NUMBER, 0, 0, NULL },
};

const struct sampling *sampling_find(struct view name)
{
    for (const struct sampling *one = sampling_table; one->name; one++)
        if (view_is(name, one->name))
            return one;
    return NULL;
}

static bool unknown(struct view name, struct err *err)
{
    CLEANUP(buf_finish) struct buf names;

    buf_init(&names, 256);
    for (const struct sampling *one = sampling_table; one->name; one++)
        buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", one->name);
    return err_set(err, ERR_REJECT, "bad_field",
                   "parameters: there is no \"%.*s\"; there are %.*s",
                   VIEW_ARG(view_head(name, 64)), VIEW_ARG(buf_view(&names)));
}

static bool is_integer(const msgpack_object *value)
{
    return value->type == MSGPACK_OBJECT_POSITIVE_INTEGER ||
           value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER;
}

static double sampling_number(const msgpack_object *value)
{
    if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        return (double)value->via.u64;
    if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        return (double)value->via.i64;
    return value->via.f64;
}

static bool check_number(const struct sampling *one,
                         const msgpack_object *value, struct err *err)
{
    bool whole = one->kind == SAMPLING_INTEGER;
    bool real = value->type == MSGPACK_OBJECT_FLOAT32 ||
                value->type == MSGPACK_OBJECT_FLOAT64;

    if (!is_integer(value) && (whole || !real))
        return err_set(err, ERR_REJECT, "bad_field",
                       "parameters.%s must be %s from %g to %.10g", one->name,
                       whole ? "an integer" : "a number", one->least,
                       one->most);
    if (sampling_number(value) >= one->least &&
        sampling_number(value) <= one->most)
        return true;
    return err_set(err, ERR_REJECT, "bad_field",
                   "parameters.%s: is %g, must be from %.10g to %.10g",
                   one->name, sampling_number(value), one->least, one->most);
}

static struct view sampling_text(const msgpack_object *value)
{
    if (value->type != MSGPACK_OBJECT_STR)
        return VIEW("");
    return (struct view){ value->via.str.ptr, value->via.str.size };
}

static bool check_word(const struct sampling *one, const msgpack_object *value,
                       struct err *err)
{
    struct view word = sampling_text(value);
    bool good = word.len > 0 && word.len <= MAX_WORD_BYTES;

    for (size_t i = 0; i < word.len && good; i++)
        good = isalnum((unsigned char)word.data[i]) || word.data[i] == '_' ||
               word.data[i] == '-';
    return good || err_set(err, ERR_REJECT, "bad_field",
                           "parameters.%s must be a word of 1 to %d letters, "
                           "digits, _ and -",
                           one->name, MAX_WORD_BYTES);
}

static bool is_stop(const msgpack_object *value)
{
    struct view text = sampling_text(value);

    return text.len > 0 && text.len <= MAX_STOP_BYTES && view_is_utf8(text);
}

static bool check_stop(const msgpack_object *value, struct err *err)
{
    bool list = value->type == MSGPACK_OBJECT_ARRAY;
    size_t count = list ? value->via.array.size : 1;
    bool good = count > 0 && count <= MAX_STOPS;

    for (size_t i = 0; i < count && good; i++)
        good = is_stop(list ? &value->via.array.ptr[i] : value);
    return good || err_set(err, ERR_REJECT, "bad_field",
                           "parameters.stop must be a text of 1 to %d bytes, "
                           "or a list of 1 to %d of them",
                           MAX_STOP_BYTES, MAX_STOPS);
}

static bool check_choice(const struct sampling *one,
                         const msgpack_object *value, struct err *err)
{
    CLEANUP(buf_finish) struct buf words;

    buf_init(&words, 256);
    for (const char *const *word = one->words; *word; word++) {
        if (view_is(sampling_text(value), *word))
            return true;
        buf_printf(&words, "%s%s", words.len > 0 ? ", " : "", *word);
    }
    return err_set(err, ERR_REJECT, "bad_field",
                   "parameters.%s must be one of %.*s", one->name,
                   VIEW_ARG(buf_view(&words)));
}

static bool check_one(const msgpack_object_kv *pair, struct err *err)
{
    struct view name = sampling_text(&pair->key);
    const struct sampling *one = sampling_find(name);

    if (!one)
        return unknown(name, err);
    switch (one->kind) {
    case SAMPLING_NUMBER:
    case SAMPLING_INTEGER:
        return check_number(one, &pair->val, err);
    case SAMPLING_WORD:
        return check_word(one, &pair->val, err);
    case SAMPLING_STOP:
        return check_stop(&pair->val, err);
    case SAMPLING_BOOL:
        return pair->val.type == MSGPACK_OBJECT_BOOLEAN ||
               err_set(err, ERR_REJECT, "bad_field",
                       "parameters.%s must be true or false", one->name);
    case SAMPLING_CHOICE:
        return check_choice(one, &pair->val, err);
    }
    return false;
}

bool sampling_check(const msgpack_object *map, struct err *err)
{
    if (map->type != MSGPACK_OBJECT_MAP)
        return err_set(err, ERR_REJECT, "bad_field",
                       "parameters must be a map");
    for (size_t i = 0; i < map->via.map.size; i++)
        if (!check_one(&map->via.map.ptr[i], err))
            return false;
    return true;
}
