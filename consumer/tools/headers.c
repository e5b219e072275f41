/* headers.c - the HTTP headers of requests to tools and endpoints. */
#include "consumer/tools/headers.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "consumer/model/entry.h"
#include "consumer/model/secret.h"

enum {
    MOST_HEADER_BYTES = 16 << 10,
    MOST_LINE = 8 << 10, /* what servers take, by default */
    LEAST_KEY = 8,
};

#define METADATA "job.metadata."

/* ------------------------------------------------- the lines of a request */

void header_lines_add(struct header_lines *lines, struct view line)
{
    assert(lines->count < MAX_HEADER_LINES - 1);
    lines->items[lines->count++] = view_dup(line);
}

void header_lines_copy(struct header_lines *lines, char *const *more)
{
    for (; *more; more++)
        header_lines_add(lines, view_of(*more));
}

void header_lines_finish(struct header_lines *lines)
{
    while (lines->count > 0)
        free(lines->items[--lines->count]);
}

/* ---------------------------------------- what the operator has set up */

void headers_finish(struct headers *headers)
{
    for (size_t i = 0; headers->lines[i]; i++)
        free(headers->lines[i]);
    for (size_t i = 0; headers->of_job[i]; i++)
        free(headers->of_job[i]);
    for (size_t i = 0; i < headers->secret_count; i++)
        free(headers->secrets[i]);
    free(headers->secrets);
    *headers = (struct headers){ 0 };
}

static bool has_line(char *const *lines, const char *name)
{
    size_t len = strlen(name);
    for (; *lines; lines++)
        if (strncasecmp(*lines, name, len) == 0 && (*lines)[len] == ':')
            return true;
    return false;
}

bool headers_have(const struct headers *headers, const char *name)
{
    return has_line(headers->lines, name) || has_line(headers->of_job, name);
}

void headers_hide(const struct headers *headers, char *text)
{
    for (size_t i = 0; i < headers->secret_count; i++)
        secret_hide(text, headers->secrets[i]);
}

json_t *headers_mask(const struct headers *headers, json_t *value,
                     struct view body)
{
    return secret_mask_json(value, body, headers->secrets);
}

bool headers_expand(const char *text, struct buf *line, struct err *err)
{
    for (const char *open; (open = strstr(text, "${"));) {
        const char *close = strchr(open, '}');
        if (!close)
            return entry_bad(err, "${ without its }");
        buf_append(line, text, (size_t)(open - text));
        char *name =
            view_dup((struct view){ open + 2, (size_t)(close - open) - 2 });
        const char *value = *name == '\0' ? NULL : getenv(name);
        bool there = value && *value != '\0';
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

void headers_add_secret(struct headers *headers, struct view secret)
{
    size_t count = headers->secret_count;
    if (secret.len == 0)
        return;
    headers->secrets =
        realloc(headers->secrets, (count + 2) * sizeof(*headers->secrets));
    if (!headers->secrets)
        abort();
    headers->secrets[count] = view_dup(secret);
    headers->secrets[count + 1] = NULL;
    headers->secret_count++;
}

/* Stricter than secret_is_named(), which judges headers: a query has
 * "author=..." or "sort_key=name", and starring out such a word would damage
 * answers that are full of it. A {placeholder} is no key either. */
static bool is_key(const char *name, const char *value)
{
    static const char *const ends[] = { "key",      "token",     "secret",
                                        "password", "signature", "auth" };
    size_t len = strlen(name);
    bool named = false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);
        named |= len >= end && strcasecmp(name + len - end, ends[i]) == 0;
    }
    return named && strlen(value) >= LEAST_KEY &&
           strpbrk(value, "0123456789") && !strchr(value, '{');
}

void headers_add_query(struct headers *headers, const char *url)
{
    const char *query = strchr(url, '?');
    CLEANUP(cleanup_free)
    char *copy = !query ? NULL : view_dup(view_of(query + 1));
    char *rest = copy;
    for (char *name; (name = strsep(&rest, "&"));) {
        char *value = strchr(name, '=');
        if (!value)
            continue;
        *value++ = '\0';
        if (!is_key(name, value))
            continue;
        headers_add_secret(headers, view_of(value));
        secret_unescape(value);
        headers_add_secret(headers, view_of(value));
    }
}

/* Makes the value of each ${NAME} in the text a secret. */
static void keep_values(struct headers *headers, const char *text)
{
    for (; (text = strstr(text, "${")); text++) {
        CLEANUP(cleanup_free)
        char *name =
            view_dup((struct view){ text + 2, strcspn(text + 2, "}") });
        const char *value = getenv(name);
        if (value)
            headers_add_secret(headers, view_of(value));
    }
}

/* Of "Authorization: Bearer KEY" a server would repeat KEY, perhaps alone. */
static struct view last_word(struct view line)
{
    size_t start = line.len;
    while (start > 0 && line.data[start - 1] != ' ')
        start--;
    return (struct view){ line.data + start, line.len - start };
}

static bool is_fact(struct view name)
{
    return view_is(name, "job.id") || view_is(name, "job.tenant") ||
           view_is(name, "job.session") ||
           (view_starts(name, METADATA) && name.len > strlen(METADATA));
}

/* Splits "{{name}}rest": name, and end at the rest. False: the text does not
 * begin so. */
static bool cut_name(const char *text, struct view *name, const char **end)
{
    const char *close = strstr(text, "}}");
    if (strncmp(text, "{{", 2) != 0 || !close)
        return false;
    *name = (struct view){ text + 2, (size_t)(close - text) - 2 };
    *end = close + 2;
    return true;
}

static bool check_names_of_job(const char *text, struct err *err)
{
    for (const char *open; (open = strstr(text, "{{"));) {
        struct view name;
        if (!cut_name(open, &name, &text))
            return entry_bad(err, "{{ without its }}");
        if (!is_fact(name))
            return err_set(
                err, ERR_REJECT, "bad_setting",
                "there is no {{%.*s}}; there are job.id, job.tenant, "
                "job.session and job.metadata.NAME",
                VIEW_ARG(view_head(name, 64)));
    }
    return true;
}

static char **next_place(char **lines)
{
    while (*lines)
        lines++;
    return lines;
}

static bool add_header(struct headers *headers, const char *name,
                       const json_t *text, struct err *err)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, MOST_HEADER_BYTES);
    if (!header_name_is_good(name))
        return entry_bad(err, "is not a valid name of a header");
    if (!json_is_string(text))
        return entry_bad(err, "must be a text");
    buf_printf(&line, "%s: ", name);
    if (!check_names_of_job(json_string_value(text), err) ||
        !headers_expand(json_string_value(text), &line, err))
        return false;
    if (!buf_ok(&line))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "is longer than %d bytes", MOST_HEADER_BYTES);
    if (!line_is_good(buf_view(&line)))
        return entry_bad(err, "has a byte in it that no header may have");
    bool of_job = strstr(json_string_value(text), "{{") != NULL;
    *next_place(of_job ? headers->of_job : headers->lines) =
        view_dup(buf_view(&line));
    keep_values(headers, json_string_value(text));
    if (secret_is_named(name) || strstr(json_string_value(text), "${"))
        headers_add_secret(headers, last_word(buf_view(&line)));
    return true;
}

/* Errors never contain a value: it may be a key. */
bool headers_read(struct headers *headers, json_t *value, struct err *err)
{
    const char *name;
    json_t *text;
    if (!json_is_object(value) || json_object_size(value) > MAX_TOOL_HEADERS)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "headers: must be an object of at most %d",
                       MAX_TOOL_HEADERS);
    json_object_foreach(value, name, text)
        if (!add_header(headers, name, text, err))
            return err_prefix(err, "headers: %.64s", name);
    return true;
}

/* ------------------------------------------------------ for whom it is */

static struct view fact(const struct caller *caller, struct view name)
{
    const struct pair *pairs = caller->metadata.items;
    if (view_is(name, "job.id"))
        return caller->job;
    if (view_is(name, "job.tenant"))
        return caller->tenant;
    if (view_is(name, "job.session"))
        return caller->session;
    name.data += strlen(METADATA);
    name.len -= strlen(METADATA);
    for (size_t i = 0; i < caller->metadata.count; i++)
        if (view_equal(pairs[i].key, name))
            return pairs[i].value;
    return (struct view){ 0 };
}

static void add_value(struct buf *line, struct view value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (isalnum(c) || (c != 0 && strchr("-._~@:/+", c)))
            buf_append(line, value.data + i, 1);
        else
            buf_printf(line, "%%%02X", c);
    }
}

/* Replaces each {{name}} by the job's value. False: the job lacks one. */
static bool headers_fill_line(const char *text, const struct caller *caller,
                              struct buf *line)
{
    for (const char *open; (open = strstr(text, "{{"));) {
        struct view name;
        buf_append(line, text, (size_t)(open - text));
        if (!cut_name(open, &name, &text))
            break;
        struct view value = fact(caller, name);
        if (value.len == 0)
            return false;
        add_value(line, value);
    }
    buf_add(line, view_of(text));
    return true;
}

bool headers_of_job(const struct headers *headers, const struct caller *caller,
                    struct header_lines *lines, struct err *err)
{
    for (size_t i = 0; headers->of_job[i]; i++) {
        const char *text = headers->of_job[i];
        CLEANUP(buf_finish) struct buf line;
        buf_init(&line, MOST_LINE);
        if (!headers_fill_line(text, caller, &line))
            continue;
        if (!buf_ok(&line))
            return err_set(err, ERR_REJECT, "too_large",
                           "the header %.*s would have more than %d bytes: it "
                           "names a value of the job that is too long",
                           (int)strcspn(text, ":"), text, MOST_LINE);
        header_lines_add(lines, buf_view(&line));
    }
    return true;
}
