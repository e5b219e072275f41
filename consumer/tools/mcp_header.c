/* mcp_header.c - the parts of an MCP request that its headers repeat. */
#include "consumer/tools/mcp_header.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MARK "x-mcp-header"

enum {
    MOST_DEPTH = 32, /* of a schema: these functions are recursive */
    MOST_NAME = 64,
    MOST_VALUE = 4 << 10,       /* a longer one is in the body only */
    MOST_LINE = 2 * MOST_VALUE, /* in Base64 */
};

/* ------------------------------------------------------------------- lines */

static bool mcp_header_is_plain(struct view value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < ' ' || value.data[i] > '~')
            return false;
    bool padded = value.len > 0 &&
                  (value.data[0] == ' ' || value.data[value.len - 1] == ' ');
    return !padded && !view_starts(value, "=?base64?");
}

static void add_base64(struct buf *line, struct view value)
{
    unsigned char *text = malloc(value.len / 3 * 4 + 8);
    if (!text)
        abort();
    int len = EVP_EncodeBlock(text, (const unsigned char *)value.data,
                              (int)value.len);
    buf_add(line, VIEW("=?base64?"));
    buf_append(line, text, (size_t)len);
    buf_add(line, VIEW("?="));
    free(text);
}

void mcp_header_add(struct header_lines *lines, const char *prefix,
                    const char *name, struct view value)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, MOST_LINE);
    buf_printf(&line, "%s%s: ", prefix, name);
    if (mcp_header_is_plain(value))
        buf_add(&line, value);
    else
        add_base64(&line, value);
    if (buf_ok(&line) && lines->count < MAX_HEADER_LINES - 1)
        header_lines_add(lines, buf_view(&line));
}

/* ------------------------------------------------------------------- marks */

/* Counts the marks anywhere in the schema. A property that is named as the mark
 * counts, too: such a schema is refused. Too deep: more than there can be. */
static size_t count_marks(const json_t *value, unsigned int depth)
{
    size_t count = 0, i;
    const char *name;
    json_t *inner;
    if (depth > MOST_DEPTH)
        return SIZE_MAX / 2;
    json_array_foreach(value, i, inner)
        count += count_marks(inner, depth + 1);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)value, name, inner)
        count +=
            (strcmp(name, MARK) == 0 ? 1 : 0) + count_marks(inner, depth + 1);
    return count;
}

static bool is_token(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) &&
            !strchr("!#$%&'*+-.^_`|~", name[i]))
            return false;
    return len > 0 && len <= MOST_NAME;
}

static bool is_primitive(const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    return type &&
           (strcmp(type, "string") == 0 || strcmp(type, "integer") == 0 ||
            strcmp(type, "boolean") == 0);
}

struct marks {
    const char *names[MCP_MOST_MARKED];
    size_t count;
};

static bool mcp_header_take_mark(struct marks *marks, const json_t *schema)
{
    const json_t *mark = json_object_get(schema, MARK);
    const char *name = json_string_value(mark);
    if (!mark)
        return true;
    if (!name || !is_token(name) || !is_primitive(schema) ||
        marks->count == MCP_MOST_MARKED)
        return false;
    for (size_t i = 0; i < marks->count; i++)
        if (strcasecmp(marks->names[i], name) == 0)
            return false;
    marks->names[marks->count++] = name;
    return true;
}

/* Takes the marks of properties, and of properties of these. A mark elsewhere,
 * below "anyOf" or "items", has no single value: mcp_header_check() finds it
 * because the counts differ. */
static bool take_marks(struct marks *marks, const json_t *schema,
                       unsigned int depth)
{
    const char *name;
    json_t *inner;
    if (depth > MOST_DEPTH)
        return false;
    json_object_foreach(json_object_get(schema, "properties"), name, inner)
        if (!mcp_header_take_mark(marks, inner) ||
            !take_marks(marks, inner, depth + 1))
            return false;
    return true;
}

bool mcp_header_check(const json_t *schema, struct err *err)
{
    struct marks marks = { .count = 0 };
    if (take_marks(&marks, schema, 0) && marks.count == count_marks(schema, 0))
        return true;
    return err_set(err, ERR_REJECT, "bad_field",
                   "its inputSchema has a " MARK " that no header can be made "
                   "of, more than %d, or is nested more than %d deep",
                   MCP_MOST_MARKED, MOST_DEPTH);
}

static void write_value(const char *name, const json_t *value,
                        struct header_lines *lines)
{
    char number[32];
    struct view text = { json_string_value(value), json_string_length(value) };
    if (json_is_boolean(value))
        text = json_is_true(value) ? VIEW("true") : VIEW("false");
    if (json_is_integer(value)) {
        snprintf(number, sizeof(number), "%lld",
                 (long long)json_integer_value(value));
        text = view_of(number);
    }
    if (text.data && text.len <= MOST_VALUE)
        mcp_header_add(lines, "Mcp-Param-", name, text);
}

void mcp_header_write(const json_t *schema, const json_t *arguments,
                      struct header_lines *lines)
{
    const char *name;
    json_t *inner;
    json_object_foreach(json_object_get(schema, "properties"), name, inner) {
        const json_t *value = json_object_get(arguments, name);
        const char *mark = json_string_value(json_object_get(inner, MARK));
        if (mark)
            write_value(mark, value, lines);
        if (json_is_object(value))
            mcp_header_write(inner, value, lines);
    }
}
