/* mcp_value.c - the result of a call of a server's tool, as a value. */
#include "consumer/tools/mcp_value.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/message/text.h"

enum {
    MOST_WORD = 100, /* of a MIME type, a name, a URI */
    MOST_REASON = 280,
    MOST_NOTES = 16,
    MOST_TEXT =
        8 << 20, /* above MCP_REPLY_BYTES: notes are longer than parts */
};

/* The texts of a result as one, in which notes tell what was left out. */
struct joined_texts {
    struct buf all;
    json_t *notes;
};

static void add_line(struct joined_texts *texts, struct view text)
{
    if (texts->all.len > 0)
        buf_add(&texts->all, VIEW("\n"));
    buf_add(&texts->all, text);
}

static void mcp_value_add_note(struct joined_texts *texts, struct view note)
{
    add_line(texts, note);
    if (json_array_size(texts->notes) < MOST_NOTES)
        json_array_append_new(texts->notes, json_stringn(note.data, note.len));
}

/* Appends the member behind before, as one line; nothing when it has none. */
static void mcp_value_add_word(struct buf *note, const char *before,
                               const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    if (!text || *text == '\0')
        return;
    buf_add(note, view_of(before));
    text_add_line(note, view_of(text), MOST_WORD);
}

/* Notes that a part was left out. data: the member with its bytes in Base64. */
static void leave_out(struct joined_texts *texts, const char *kind,
                      const json_t *part, const char *data)
{
    CLEANUP(buf_finish) struct buf note;
    size_t bytes = json_string_length(json_object_get(part, data)) / 4 * 3;
    buf_init(&note, 1024);
    buf_printf(&note, "[%s left out, %zu bytes", kind, bytes);
    mcp_value_add_word(&note, ": ", part, "mimeType");
    mcp_value_add_word(&note, " ", part, "uri");
    buf_add(&note, VIEW("]"));
    mcp_value_add_note(texts, buf_view(&note));
}

static void add_link(struct joined_texts *texts, const json_t *part)
{
    CLEANUP(buf_finish) struct buf note;
    buf_init(&note, 1024);
    buf_add(&note, VIEW("[a link, not followed"));
    mcp_value_add_word(&note, ": ", part, "name");
    mcp_value_add_word(&note, " ", part, "uri");
    mcp_value_add_word(&note, " ", part, "description");
    buf_add(&note, VIEW("]"));
    mcp_value_add_note(texts, buf_view(&note));
}

static bool mcp_value_add_text(struct joined_texts *texts, const json_t *object)
{
    const json_t *text = json_object_get(object, "text");
    if (!json_is_string(text))
        return false;
    add_line(texts, (struct view){ json_string_value(text),
                                   json_string_length(text) });
    return true;
}

static void mcp_value_add_part(struct joined_texts *texts, const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    const json_t *resource = json_object_get(part, "resource");
    type = type ? type : "";
    if (strcmp(type, "text") == 0 && mcp_value_add_text(texts, part))
        return;
    if (strcmp(type, "image") == 0)
        leave_out(texts, "an image", part, "data");
    else if (strcmp(type, "audio") == 0)
        leave_out(texts, "a sound", part, "data");
    else if (strcmp(type, "resource_link") == 0)
        add_link(texts, part);
    else if (strcmp(type, "resource") != 0)
        leave_out(texts, "content of another kind", part, "data");
    else if (!mcp_value_add_text(texts, resource))
        leave_out(texts, "a resource", resource, "blob");
}

static bool mcp_value_fail(struct view text, struct err *err)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, MOST_REASON);
    text_add_line(&line, text, MOST_REASON);
    return err_set(err, ERR_REJECT, "tool_failed", "%.*s",
                   VIEW_ARG(buf_view(&line)));
}

/* Since 2026-07-28 there is more than one type of result; before, none had
 * resultType. */
static bool check_type(const json_t *result, struct err *err)
{
    const json_t *type = json_object_get(result, "resultType");
    const char *word = json_string_value(type);
    if (!type || (word && strcmp(word, "complete") == 0))
        return true;
    if (word && strcmp(word, "input_required") == 0)
        return err_set(err, ERR_REJECT, "tool_failed",
                       "the tool asks for a person's input, a model or "
                       "folders, which quern does not offer");
    return err_set(err, ERR_REJECT, "tool_failed",
                   "the server's result is of a type that is not known: %.64s",
                   word ? word : "no text");
}

/* Structured content keeps its form unless there are notes to go with it. */
static json_t *value_of(const json_t *result, const struct joined_texts *texts)
{
    json_t *structured = json_object_get(result, "structuredContent");
    if (!structured || json_is_null(structured))
        return texts->all.len == 0
                   ? json_null()
                   : json_stringn(texts->all.data, texts->all.len);
    if (json_array_size(texts->notes) == 0)
        return json_incref(structured);
    return json_pack("{s:O, s:O}", "structuredContent", structured, "left_out",
                     texts->notes);
}

static bool write_value(const json_t *result, const struct joined_texts *texts,
                        size_t max, struct buf *out, struct err *err)
{
    json_t *value = value_of(result, texts);
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t len = text ? strlen(text) : 0;
    if (!text)
        mcp_value_fail(VIEW("the server's result cannot be written as JSON"),
                       err);
    else if (len > max)
        err_set(err, ERR_REJECT, "too_large",
                "the answer is %zu bytes, may be at most %zu", len, max);
    else
        buf_append(out, text, len);
    free(text);
    json_decref(value);
    return len > 0 && len <= max;
}

bool mcp_value_write(const json_t *result, size_t max, struct buf *out,
                     struct err *err)
{
    const json_t *content = json_object_get(result, "content");
    struct joined_texts texts = { .notes = json_array() };
    size_t i;
    json_t *part;
    buf_init(&texts.all, MOST_TEXT);
    json_array_foreach(content, i, part)
        mcp_value_add_part(&texts, part);
    bool good = check_type(result, err) &&
                (buf_ok(&texts.all) ||
                 err_set(err, ERR_REJECT, "too_large",
                         "the answer is more than %d bytes", MOST_TEXT));
    if (good && json_is_true(json_object_get(result, "isError")))
        good = mcp_value_fail(texts.all.len > 0
                                  ? buf_view(&texts.all)
                                  : VIEW("the tool says no more than that "
                                         "it failed"),
                              err);
    else if (good)
        good = write_value(result, &texts, max, out, err);
    buf_finish(&texts.all);
    json_decref(texts.notes);
    return good;
}
