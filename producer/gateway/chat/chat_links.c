/* chat_links.c - what code has made, as links in the Markdown of a chat. */
#include "producer/gateway/chat/chat_links.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/body/body.h"
#include "schemas/message/limits.h"

_Static_assert(MAX_FILES <= 64, "chat_linked has a bit for each file");

/* ---------------------------------------------------------------- Markdown */

/* An underscore inside of a word begins no emphasis. */
static bool is_inside_word(struct view name, size_t at)
{
    return name.data[at] == '_' && at > 0 && at + 1 < name.len &&
           isalnum((unsigned char)name.data[at - 1]) &&
           isalnum((unsigned char)name.data[at + 1]);
}

/* A name as the text of a link: what Markdown would take for its own has a
 * backslash, and control bytes, line ends too, are spaces. */
static void add_name(struct buf *text, struct view name)
{
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.data[i];

        if ((unsigned char)byte < ' ' || byte == '\x7f')
            byte = ' ';
        else if (byte_is_of(byte, "\\`*_[]<>&!~|$#@:") &&
                 !is_inside_word(name, i))
            buf_add(text, VIEW("\\"));
        buf_append(text, &byte, 1);
    }
}

static void add_between(struct buf *text)
{
    if (text->len > 0)
        buf_add(text, VIEW(CHAT_BETWEEN));
}

static void chat_link_add(struct buf *text, const char *mark, struct view name,
                          const char *url)
{
    add_between(text);
    buf_printf(text, "%s[", mark);
    add_name(text, name);
    buf_printf(text, "](%s)", url);
}

void chat_add_images(struct buf *text, const json_t *item)
{
    const json_t *outputs = json_object_get(item, "outputs"), *output;
    size_t i;

    json_array_foreach(outputs, i, output) {
        const char *url = json_string_value(json_object_get(output, "url"));

        if (url)
            chat_link_add(text, "!",
                          body_string(json_object_get(output, "name")), url);
    }
}

/* ------------------------------------------------------------------- files */

/* NULL: none can be made. To be freed. */
static char *url_of(const struct wire_job *job, const struct file_ref *file)
{
    return file->blob.len > 0 && job->links.url
               ? job->links.url(job->links.owner, WIRE_LINK_FILE, file->name)
               : NULL;
}

void chat_add_files(struct buf *text, const struct wire_job *job,
                    const struct result *result, chat_linked linked)
{
    const struct file_ref *files = result ? result->files.items : NULL;

    for (size_t i = 0; files && i < result->files.count; i++) {
        CLEANUP(cleanup_free) char *url = NULL;

        if (!(linked >> i & 1))
            url = url_of(job, &files[i]);
        if (url)
            chat_link_add(text, "", files[i].name, url);
    }
}

/* ------------------------------------------------- links in the model's text
 */

/* How many bytes of the text are the name, each as it is or as %XX; 0: it does
 * not begin with it. */
static size_t name_at(struct view text, struct view name)
{
    size_t at = 0;

    for (size_t i = 0; i < name.len; i++, at++) {
        bool is_escape = at + 2 < text.len && text.data[at] == '%' &&
                         byte_hex(text.data[at + 1]) >= 0 &&
                         byte_hex(text.data[at + 2]) >= 0;

        if (at >= text.len)
            return 0;
        if (text.data[at] == name.data[i])
            continue;
        if (!is_escape ||
            byte_hex(text.data[at + 1]) * 16 + byte_hex(text.data[at + 2]) !=
                (unsigned char)name.data[i])
            return 0;
        at += 2;
    }
    return at;
}

static size_t skip(struct view text, size_t at, const char *word)
{
    struct view rest = { text.data + at, text.len - at };

    return view_starts(rest, word) ? at + strlen(word) : at;
}

/* Where the file begins in "sandbox:/mnt/data/NAME)", which may stand in "<>";
 * 0: it is no place of a file. */
static size_t skip_folder(struct view text, bool *in_angles)
{
    size_t from = skip(text, 0, "<"), at;

    *in_angles = from > 0;
    from = skip(text, from, "sandbox:");
    at = skip(text, from, "/mnt/data/");
    return at > from ? at : 0;
}

/* A target that is a file of the result: its bytes, with its "<>". 0: it is
 * none. */
static size_t find_target(struct view text, const struct result *result,
                          size_t *file)
{
    const struct file_ref *files = result->files.items;
    bool in_angles;
    size_t begin = skip_folder(text, &in_angles), longest = 0;

    for (size_t i = 0; begin > 0 && i < result->files.count; i++) {
        struct view rest = { text.data + begin, text.len - begin };
        size_t used = name_at(rest, files[i].name);

        if (used <= longest || used >= rest.len ||
            !byte_is_of(rest.data[used], in_angles ? ">" : ") \t\n"))
            continue;
        longest = used;
        *file = i;
    }
    return longest > 0 ? begin + longest + in_angles : 0;
}

chat_linked chat_add_text(struct buf *text, const struct wire_job *job,
                          const struct result *result, struct view part)
{
    chat_linked linked = 0;
    size_t file = 0, done = 0;

    if (part.len > 0)
        add_between(text);
    for (size_t at = 2; result && at < part.len; at++) {
        CLEANUP(cleanup_free) char *url = NULL;
        size_t used = 0;

        if (part.data[at - 2] == ']' && part.data[at - 1] == '(')
            used = find_target((struct view){ part.data + at, part.len - at },
                               result, &file);
        if (used > 0)
            url = url_of(job,
                         (const struct file_ref *)result->files.items + file);
        if (!url)
            continue;
        buf_append(text, part.data + done, at - done);
        buf_printf(text, "%s", url);
        linked |= (chat_linked)1 << file;
        done = at + used;
    }
    buf_append(text, part.data + done, part.len - done);
    return linked;
}
