/* headers.c - HTTP headers that the operator has set up for a tool. */
#include "consumer/tools/headers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "consumer/model/secret.h"
#include "consumer/tools/entry.h"
#include "schemas/message/buf.h"

enum { MOST_HEADER_BYTES = 16 << 10 };

void headers_finish(struct headers *headers)
{
    for (size_t i = 0; headers->lines[i] != NULL; i++)
        free(headers->lines[i]);
    for (size_t i = 0; headers->secrets[i] != NULL; i++)
        free(headers->secrets[i]);
    *headers = (struct headers){ 0 };
}

bool headers_have(const struct headers *headers, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; headers->lines[i] != NULL; i++)
        if (strncasecmp(headers->lines[i], name, len) == 0 &&
            headers->lines[i][len] == ':')
            return true;
    return false;
}

void headers_hide(const struct headers *headers, char *text)
{
    for (char *const *secret = headers->secrets; *secret; secret++)
        secret_hide(text, *secret);
}

/* ${NAME} becomes what the environment says. */
static bool add_secrets(struct buf *line, const char *text, struct err *err)
{
    for (const char *open; (open = strstr(text, "${")) != NULL;) {
        const char *close = strchr(open, '}');
        if (close == NULL)
            return entry_bad(err, "${ without its }");
        buf_append(line, text, (size_t)(open - text));
        char *name =
            view_dup((struct view){ open + 2, (size_t)(close - open) - 2 });
        const char *value = *name == '\0' ? NULL : getenv(name);
        bool there = value != NULL && *value != '\0';
        if (there)
            buf_add(line, view_of(value));
        else
            err_set(err, ERR_REJECT, "bad_setting",
                    "the environment has no %.64s", name);
        free(name);
        if (!there)
            return false;
        text = close + 1;
    }
    buf_add(line, view_of(text));
    return true;
}

static bool header_name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
            return false;
    return len > 0 && len <= ENTRY_MOST_NAME;
}

static bool line_is_good(struct view line)
{
    for (size_t i = 0; i < line.len; i++)
        if (iscntrl((unsigned char)line.data[i]) && line.data[i] != '\t')
            return false;
    return true;
}

/* "Authorization: Bearer KEY": what a server would repeat of it. */
static void add_secret(struct headers *headers, struct view line)
{
    size_t start = line.len, count = 0;
    while (start > 0 && line.data[start - 1] != ' ')
        start--;
    while (headers->secrets[count] != NULL)
        count++;
    headers->secrets[count] =
        view_dup((struct view){ line.data + start, line.len - start });
}

static bool add_header(struct headers *headers, size_t at, const char *name,
                       const json_t *text, struct err *err)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, MOST_HEADER_BYTES);
    if (!header_name_is_good(name))
        return entry_bad(err, "is no name of a header");
    if (!json_is_string(text))
        return entry_bad(err, "must be a text");
    buf_printf(&line, "%s: ", name);
    if (!add_secrets(&line, json_string_value(text), err))
        return false;
    if (!buf_ok(&line))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "is longer than %d bytes", MOST_HEADER_BYTES);
    if (!line_is_good(buf_view(&line)))
        return entry_bad(err, "has a byte in it that no header may have");
    headers->lines[at] = view_dup(buf_view(&line));
    if (strstr(json_string_value(text), "${") != NULL)
        add_secret(headers, buf_view(&line));
    return true;
}

/* Their values are not told: they may be keys. */
bool headers_read(struct headers *headers, json_t *value, struct err *err)
{
    const char *name;
    json_t *text;
    size_t count = 0;
    if (!json_is_object(value) || json_object_size(value) > MAX_TOOL_HEADERS)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "headers: must be an object of at most %d",
                       MAX_TOOL_HEADERS);
    json_object_foreach(value, name, text)
        if (!add_header(headers, count++, name, text, err))
            return err_prefix(err, "headers: %.64s", name);
    return true;
}
