/* practice.c - rules in the place of intelligence: run the code of the
 * question block by block, then tell what came back. */
#include "practice.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ECHO_BYTES = 200 };

static bool has_role(const json_t *message, const char *role)
{
    const char *is = json_string_value(json_object_get(message, "role"));

    return is && strcmp(is, role) == 0;
}

/* Code that a text brought has come back in a message of the user. */
static bool is_question(const json_t *message)
{
    const char *text = json_string_value(json_object_get(message, "content"));

    return has_role(message, "user") &&
           !(text && strncmp(text, "Observation:", 12) == 0);
}

/* The position behind the last message of the user. */
static size_t after_question(const json_t *messages)
{
    size_t i = json_array_size(messages);

    while (i > 0 && !is_question(json_array_get(messages, i - 1)))
        i--;
    return i;
}

size_t practice_count(const json_t *messages, const char *role)
{
    size_t count = 0;

    for (size_t i = after_question(messages); i < json_array_size(messages);
         i++)
        count += has_role(json_array_get(messages, i), role);
    return count;
}

/* Content is a string or a list of parts. */
static void write_content(FILE *out, const json_t *content)
{
    const json_t *part;
    size_t i;

    if (json_is_string(content))
        fwrite(json_string_value(content), 1, json_string_length(content), out);
    json_array_foreach(content, i, part)
        write_content(out, json_object_get(part, "text"));
}

static json_t *content_text(const json_t *message)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    json_t *string;

    write_content(out, json_object_get(message, "content"));
    fclose(out);
    string = json_stringn(text, len);
    free(text);
    return string;
}

json_t *practice_question(const json_t *messages)
{
    size_t after = after_question(messages);

    return after > 0 ? content_text(json_array_get(messages, after - 1))
                     : json_string("");
}

/* The fenced Python block of that number, without its fences; NULL: no. */
static json_t *code_block(const char *text, size_t number)
{
    const char *fence = text;

    while ((fence = strstr(fence, "```python"))) {
        const char *start = strchr(fence, '\n');
        const char *end;

        if (!start)
            return NULL;
        end = strstr(start, "\n```");
        if (!end)
            end = start + strlen(start);
        if (number-- == 0)
            return json_stringn(start + 1,
                                end > start ? (size_t)(end - start - 1) : 0);
        fence = *end ? end + 4 : end;
    }
    return NULL;
}

static bool offers(const json_t *request, const char *name)
{
    const json_t *tool;
    size_t i;

    json_array_foreach(json_object_get(request, "tools"), i, tool) {
        const json_t *function = json_object_get(tool, "function");
        const char *is = json_string_value(json_object_get(function, "name"));

        if (is && strcmp(is, name) == 0)
            return true;
    }
    return false;
}

/* Takes the code. */
static json_t *call_reply(json_t *code, size_t number)
{
    json_t *arguments = json_pack("{s:o}", "code", code);
    char *text = json_dumps(arguments, JSON_COMPACT);
    json_t *reply = json_pack("{s:[{s:o, s:s, s:s}]}", "tool_calls", "id",
                              json_sprintf("call_%zu", number + 1), "name",
                              "execute_python_code", "arguments", text);

    free(text);
    json_decref(arguments);
    return reply;
}

/* Each "[image: NAME]" of the observation as Markdown. */
static void write_images(FILE *out, const char *text)
{
    static const char mark[] = "[image: ";

    while ((text = strstr(text, mark))) {
        const char *name = text + sizeof(mark) - 1;
        int len = (int)strcspn(name, "]\n");

        if (name[len] == ']')
            fprintf(out, "\n![%.*s](%.*s)\n", len, name, len, name);
        text = name;
    }
}

static void write_observation(FILE *out, const json_t *message)
{
    json_t *content = content_text(message);
    const char *text = json_string_value(content);

    fputs("\n```\n", out);
    fwrite(text, 1, json_string_length(content), out);
    fputs("\n```\n", out);
    write_images(out, text);
    json_decref(content);
}

static json_t *answer_reply(const json_t *messages)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    json_t *reply;

    fputs("This is what came back:\n", out);
    for (size_t i = after_question(messages); i < json_array_size(messages);
         i++)
        if (has_role(json_array_get(messages, i), "tool"))
            write_observation(out, json_array_get(messages, i));
    fclose(out);
    reply = json_pack("{s:o}", "text", json_stringn(text, len));
    free(text);
    return reply;
}

static json_t *echo_reply(const json_t *question)
{
    const char *text = json_string_value(question);
    size_t len = json_string_length(question);

    if (len > ECHO_BYTES) {
        len = ECHO_BYTES;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
    }
    return json_pack("{s:o}", "text",
                     json_sprintf("You said: %.*s", (int)len, text));
}

json_t *practice_reply(const json_t *request)
{
    const json_t *messages = json_object_get(request, "messages");
    size_t results = practice_count(messages, "tool");
    json_t *question = practice_question(messages);
    json_t *code = NULL, *reply;

    if (offers(request, "execute_python_code"))
        code = code_block(json_string_value(question), results);
    if (code)
        reply = call_reply(code, results);
    else if (results > 0)
        reply = answer_reply(messages);
    else
        reply = echo_reply(question);
    json_decref(question);
    return reply;
}
