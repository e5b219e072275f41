/* script.c - finds the reply that a script holds for a request. */
#include "script.h"

#include <stdbool.h>
#include <string.h>

#include "practice.h"

static bool matches(const json_t *entry, const char *question)
{
    const char *match = json_string_value(json_object_get(entry, "match"));

    return !match || strstr(question, match);
}

/* The conversation that it is; the script itself when that is but one. */
static json_t *find_entry(json_t *script, const char *question)
{
    json_t *entry;
    size_t i;

    if (!json_object_get(json_array_get(script, 0), "replies"))
        return script;
    json_array_foreach(script, i, entry)
        if (matches(entry, question))
            return entry;
    return NULL;
}

/* Which of its replies: by the history, or one after the other. */
static size_t next_of(json_t *entry, const json_t *messages)
{
    json_int_t taken = json_integer_value(json_object_get(entry, "taken"));

    if (!json_is_true(json_object_get(entry, "in_order")))
        return practice_count(messages, "assistant");
    json_object_set_new(entry, "taken", json_integer(taken + 1));
    return (size_t)taken;
}

json_t *script_reply(json_t *script, const json_t *request, size_t seen)
{
    const json_t *messages = json_object_get(request, "messages");
    json_t *question = practice_question(messages);
    json_t *entry = find_entry(script, json_string_value(question));
    const json_t *replies =
        json_is_object(entry) ? json_object_get(entry, "replies") : entry;
    json_t *reply =
        entry ? json_array_get(replies, next_of(entry, messages)) : NULL;
    size_t count = json_array_size(reply);

    json_decref(question);
    if (count > 0)
        reply = json_array_get(reply, seen < count ? seen : count - 1);
    return json_is_object(reply) ? reply : NULL;
}
