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

static const json_t *find_replies(const json_t *script, const char *question)
{
    const json_t *entry;
    size_t i;

    if (!json_object_get(json_array_get(script, 0), "replies"))
        return script;
    json_array_foreach(script, i, entry)
        if (matches(entry, question))
            return json_object_get(entry, "replies");
    return NULL;
}

json_t *script_reply(const json_t *script, const json_t *request, size_t seen)
{
    const json_t *messages = json_object_get(request, "messages");
    json_t *question = practice_question(messages);
    const json_t *replies = find_replies(script, json_string_value(question));
    json_t *reply =
        json_array_get(replies, practice_count(messages, "assistant"));
    size_t count = json_array_size(reply);

    json_decref(question);
    if (count > 0)
        reply = json_array_get(reply, seen < count ? seen : count - 1);
    return json_is_object(reply) ? reply : NULL;
}
