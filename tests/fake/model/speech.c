/* speech.c - see speech.h and writer.h. */
#include "speech.h"

#include <string.h>

#include "plan.h"

enum { TEXT_PIECE = 12 /* bytes of text in one delta */ };

const struct speech *speech_at(const char *path)
{
    static const struct speech *const speeches[] = {
        &speech_chat,
        &speech_messages,
        &speech_responses,
    };

    for (size_t i = 0; i < sizeof(speeches) / sizeof(speeches[0]); i++)
        if (strcmp(path, speeches[i]->path) == 0)
            return speeches[i];
    return NULL;
}

json_t *speech_text(const json_t *content)
{
    json_t *text = json_string(""), *joined;
    const json_t *part;
    size_t i;

    if (json_is_string(content)) {
        json_decref(text);
        return json_stringn(json_string_value(content),
                            json_string_length(content));
    }
    json_array_foreach(content, i, part) {
        const char *more = json_string_value(json_object_get(part, "text"));

        joined =
            json_sprintf("%s%s", json_string_value(text), more ? more : "");
        json_decref(text);
        text = joined;
    }
    return text;
}

/* -------------------------------------------------------------- writing
 */

void wrote_piece(struct writer *writer)
{
    fflush(writer->out);
    plan_piece(writer->plan, writer->plan->len);
}

void write_json(struct writer *writer, json_t *value)
{
    json_dumpf(value, writer->out, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(value);
}

void write_event(struct writer *writer, const char *name, json_t *data)
{
    if (name)
        fprintf(writer->out, "event: %s\n", name);
    fputs("data: ", writer->out);
    write_json(writer, data);
    fputs("\n\n", writer->out);
    wrote_piece(writer);
}

/* The bytes of the next delta, never cutting a UTF-8 character in two. */
static size_t delta_size(const char *data, size_t left, size_t want)
{
    size_t size = want < left ? want : left;

    while (size < left && ((unsigned char)data[size] & 0xC0) == 0x80)
        size++;
    return size;
}

void write_pieces(struct writer *writer, const json_t *value,
                  void (*write)(struct writer *writer, json_t *piece))
{
    const char *data = json_string_value(value);
    size_t left = json_string_length(value);

    while (left > 0) {
        size_t size = delta_size(data, left, TEXT_PIECE);

        write(writer, json_stringn_nocheck(data, size));
        data += size;
        left -= size;
    }
}

/* -------------------------------------------------------------- replies
 */

json_int_t reply_integer(const json_t *reply, const char *name,
                         json_int_t otherwise)
{
    json_t *value = json_object_get(reply, name);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

const char *reply_finish(const json_t *reply)
{
    json_t *finish = json_object_get(reply, "finish_reason");

    if (finish)
        return json_string_value(finish);
    return json_array_size(json_object_get(reply, "tool_calls")) > 0
               ? "tool_calls"
               : "stop";
}

json_t *reply_usage(const json_t *reply, const json_t *request)
{
    json_t *given = json_object_get(reply, "usage");
    json_t *asked = json_object_get(request, "messages");
    size_t in, out;

    if (given)
        return json_is_null(given) ? NULL : json_incref(given);
    if (!asked)
        asked = json_object_get(request, "input");
    in = json_dumpb(asked, NULL, 0, 0) / 4;
    out = json_string_length(json_object_get(reply, "text")) / 4 + 8;
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", (json_int_t)in,
                     "completion_tokens", (json_int_t)out, "total_tokens",
                     (json_int_t)in + (json_int_t)out);
}

json_t *seal(const char *prefix, const json_t *text)
{
    const char *data = json_string_value(text);
    unsigned long long hash = 14695981039346656037ULL;

    for (size_t i = 0; i < json_string_length(text); i++)
        hash = (hash ^ (unsigned char)data[i]) * 1099511628211ULL;
    return json_sprintf("%s%016llx", prefix, hash);
}
