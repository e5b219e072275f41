/* relay.c - checks the numbers of another process. */
#include "schemas/metrics/relay.h"

#include <string.h>

#include "schemas/metrics/metrics.h"

/* How far the text has been read. */
struct relay {
    struct view rest;
    struct view families[RELAY_FAMILIES]; /* names without "quern_" */
    size_t count;
    bool has_help; /* of a family whose TYPE has to follow */
    bool is_histogram;
};

static bool relay_skip(struct view *text, const char *word)
{
    size_t len = strlen(word);
    if (!view_starts(*text, word))
        return false;
    *text = (struct view){ text->data + len, text->len - len };
    return true;
}

/* Takes [a-z_]+ off the text; empty: there is none. */
static struct view take_name(struct view *text)
{
    struct view name = { text->data, 0 };
    while (name.len < text->len &&
           ((text->data[name.len] >= 'a' && text->data[name.len] <= 'z') ||
            text->data[name.len] == '_'))
        name.len++;
    *text = (struct view){ text->data + name.len, text->len - name.len };
    return name;
}

/* The text of HELP, or a value: UTF-8 without control characters. */
static bool take_character(struct view *text)
{
    size_t len = view_character(*text);
    if (len == 0 || (unsigned char)*text->data < 0x20)
        return false;
    *text = (struct view){ text->data + len, text->len - len };
    return true;
}

/* "..." with \\, \" and \n within. */
static bool skip_value(struct view *text)
{
    if (!relay_skip(text, "\""))
        return false;
    while (!relay_skip(text, "\"")) {
        bool escaped = relay_skip(text, "\\\\") || relay_skip(text, "\\\"") ||
                       relay_skip(text, "\\n");
        if (!escaped && (view_starts(*text, "\\") || !take_character(text)))
            return false;
    }
    return true;
}

/* {name="value",...}, or nothing. */
static bool skip_labels(struct view *text)
{
    if (!relay_skip(text, "{"))
        return true;
    do {
        if (take_name(text).len == 0 || !relay_skip(text, "=") ||
            !skip_value(text))
            return false;
    } while (relay_skip(text, ","));
    return relay_skip(text, "}");
}

/* As metrics.c writes numbers: 12, 0.25, 1e+12, -3. */
static bool is_number(struct view text)
{
    size_t digits = 0;
    bool good = text.len <= 32;
    relay_skip(&text, "-");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        digits += c >= '0' && c <= '9';
        good = good &&
               ((c >= '0' && c <= '9') ||
                (digits > 0 && i + 1 < text.len && strchr(".e+-", c) != NULL));
    }
    return good && digits > 0;
}

/* ------------------------------------------------------------------- lines */

static bool read_help(struct relay *relay, struct view line)
{
    struct view name = take_name(&line);
    if (name.len == 0 || !relay_skip(&line, " ") || line.len == 0 ||
        relay->has_help || relay->count == RELAY_FAMILIES || metrics_has(name))
        return false;
    for (size_t i = 0; i < relay->count; i++)
        if (view_equal(name, relay->families[i]))
            return false;
    while (line.len > 0)
        if (!take_character(&line))
            return false;
    relay->families[relay->count++] = name;
    return relay->has_help = true;
}

static bool read_type(struct relay *relay, struct view line)
{
    struct view name = take_name(&line);
    if (!relay->has_help || !relay_skip(&line, " ") ||
        !view_equal(name, relay->families[relay->count - 1]))
        return false;
    relay->has_help = false;
    relay->is_histogram = view_is(line, "histogram");
    return relay->is_histogram || view_is(line, "counter") ||
           view_is(line, "gauge");
}

/* What follows the family's name in that of a sample. */
static bool is_suffix(const struct relay *relay, struct view suffix)
{
    return relay->is_histogram
               ? view_is(suffix, "_bucket") || view_is(suffix, "_sum") ||
                     view_is(suffix, "_count")
               : suffix.len == 0;
}

static bool read_sample(const struct relay *relay, struct view line)
{
    struct view name = take_name(&line);
    if (relay->has_help || relay->count == 0)
        return false;
    struct view family = relay->families[relay->count - 1];
    if (name.len < family.len ||
        !view_equal(view_head(name, family.len), family))
        return false;
    struct view suffix = { name.data + family.len, name.len - family.len };
    return is_suffix(relay, suffix) && skip_labels(&line) &&
           relay_skip(&line, " ") && is_number(line);
}

static bool read_line(struct relay *relay, struct view line)
{
    if (relay_skip(&line, "# HELP quern_"))
        return read_help(relay, line);
    if (relay_skip(&line, "# TYPE quern_"))
        return read_type(relay, line);
    return relay_skip(&line, "quern_") && read_sample(relay, line);
}

bool relay_check(struct view text, struct err *err)
{
    struct relay relay = { .rest = text };
    size_t number = 0;
    if (text.len > RELAY_BYTES)
        return err_set(err, ERR_REJECT, "bad_message",
                       "%zu bytes of numbers, at most %d are shown", text.len,
                       RELAY_BYTES);
    while (relay.rest.len > 0) {
        const char *end = memchr(relay.rest.data, '\n', relay.rest.len);
        size_t len = end ? (size_t)(end - relay.rest.data) : 0;
        number++;
        if (!end || !read_line(&relay, (struct view){ relay.rest.data, len }))
            return err_set(err, ERR_REJECT, "bad_message",
                           "line %zu of the numbers is none that may be shown",
                           number);
        relay.rest = (struct view){ end + 1, relay.rest.len - len - 1 };
    }
    return !relay.has_help || err_set(err, ERR_REJECT, "bad_message",
                                      "the numbers end within a family");
}
