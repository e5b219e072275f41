/* fuzz_chat_links.c - any text of a model, and any names of files: a link gets
 * a URL only where the text links to a file, and nothing else of it changes.
 *
 * The bytes: names, each with a line end behind it; an empty one ends them; the
 * text. */
#include <string.h>

#include "producer/gateway/chat/chat_links.h"
#include "tests/fuzz/fuzz.h"

static const char URL[] = "https://quern.example/v1/links/x";

static char *make_url(const void *owner, enum wire_link_kind kind,
                      struct view name)
{
    (void)owner;
    MUST(kind == WIRE_LINK_FILE && name.len > 0);
    return view_dup(view_of(URL));
}

static struct view take_name(struct view *rest)
{
    const char *end =
        rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    struct view line = { rest->data,
                         end ? (size_t)(end - rest->data) : rest->len };
    size_t used = line.len + (end != NULL);

    *rest = (struct view){ rest->data + used, rest->len - used };
    return line;
}

static size_t count_of(struct view text, const char *word)
{
    size_t count = 0, len = strlen(word);

    for (size_t i = 0; i + len <= text.len; i++)
        count += memcmp(text.data + i, word, len) == 0;
    return count;
}

/* Names have nothing that would end or begin a link of Markdown. */
static void check_files(const struct wire_job *job, const struct result *result)
{
    CLEANUP(buf_finish) struct buf text = { .max = 1 << 20 };

    chat_add_files(&text, job, result, 0);
    MUST(buf_ok(&text));
    MUST(count_of(buf_view(&text), URL) >= result->files.count);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '<' || text.data[i] == '`')
            MUST(i > 0 && text.data[i - 1] == '\\');
}

static void check_text(const struct wire_job *job, const struct result *result,
                       struct view part)
{
    CLEANUP(buf_finish) struct buf text = { .max = 1 << 20 };
    chat_linked linked = chat_add_text(&text, job, result, part);
    size_t more = count_of(buf_view(&text), URL) - count_of(part, URL);

    MUST(buf_ok(&text));
    MUST(linked >> result->files.count == 0);
    MUST((linked == 0) == view_equal(buf_view(&text), part));
    MUST(linked == 0 || more > 0);
    MUST(more <= count_of(part, "/mnt/data/"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct wire_job job = { .links = { make_url, NULL } };
    struct view rest = { (const char *)data, size }, name;
    struct file_ref files[8];
    struct result result = { .files = { files, 0 } };

    if (size > 4096 || count_of(rest, URL) > 0)
        return 0;
    while (result.files.count < 8 && (name = take_name(&rest)).len > 0)
        files[result.files.count++] =
            (struct file_ref){ .name = name, .blob = VIEW("x") };
    check_files(&job, &result);
    check_text(&job, &result, rest);
    return 0;
}
