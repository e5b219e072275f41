/* fuzz_multipart.c - a type, LF, and a form: in any pieces the same parts as in
 * one. The first byte is the seed of the pieces. */
#include <string.h>

#include "producer/gateway/http/multipart.h"
#include "tests/fuzz/fuzz.h"

struct seen {
    struct buf text;
    bool inside; /* of a part */
};

static void on_part(void *owner, const struct multipart_part *part)
{
    struct seen *seen = owner;

    MUST(!seen->inside && view_is_utf8(part->name) && view_is_utf8(part->file));
    MUST(part->has_file || part->file.len == 0);
    seen->inside = true;
    buf_append(&seen->text, "[", 1);
    buf_add(&seen->text, part->name);
    buf_append(&seen->text, "|", 1);
    buf_add(&seen->text, part->file);
    buf_append(&seen->text, "|", 1);
    buf_add(&seen->text, part->type);
    buf_append(&seen->text, "]", 1);
}

static void on_data(void *owner, struct view piece)
{
    struct seen *seen = owner;

    MUST(seen->inside && piece.len > 0);
    buf_add(&seen->text, piece);
}

static void on_part_end(void *owner)
{
    struct seen *seen = owner;

    MUST(seen->inside);
    seen->inside = false;
    buf_append(&seen->text, ";", 1);
}

static const struct multipart_events events = { on_part, on_data, on_part_end };

static void feed(struct seen *seen, struct view type, struct view body,
                 unsigned int seed)
{
    struct multipart form;
    struct err err = { 0 };
    bool good = multipart_init(&form, type, &events, seen, &err);

    while (good && body.len > 0) {
        size_t size = seed ? 1 + (size_t)rand_r(&seed) % 9 : body.len;
        size = size > body.len ? body.len : size;
        good = multipart_feed(&form, (struct view){ body.data, size }, &err);
        body.data += size;
        body.len -= size;
    }
    if (good && multipart_end(&form, &err))
        MUST(!seen->inside);
    else
        MUST(err.text[0]);
    buf_append(&seen->text, err.text, strlen(err.text));
    multipart_finish(&form);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = { .text = { .max = 64 << 20 } };
    struct seen pieces = { .text = { .max = 64 << 20 } };
    const char *text = (const char *)data + 1;
    const char *line = size > 1 ? memchr(text, '\n', size - 1) : NULL;

    if (!line)
        return 0;
    struct view type = { text, (size_t)(line - text) };
    struct view body = { line + 1, size - 2 - type.len };
    feed(&whole, type, body, 0);
    feed(&pieces, type, body, data[0] + 1u);
    MUST(view_equal(buf_view(&whole.text), buf_view(&pieces.text)));
    buf_finish(&whole.text);
    buf_finish(&pieces.text);
    return 0;
}
