/* fuzz_links.c - any text of a model: without a file that is meant it stays as
 * it is; with one, it has as many lines as before. */
#include "consumer/conversation/links.h"
#include "consumer/conversation/request_image.h"
#include "tests/fuzz/fuzz.h"

static const struct link_item item = { VIEW_INIT("a"), VIEW_INIT("d/b"),
                                       VIEW_INIT("0") };

static void write(struct buf *out, struct view text, size_t items)
{
    const struct links links = { .template = "@{blob}",
                                 .items = &item,
                                 .count = items };
    buf_init(out, 8 * text.len + 16);
    links_write(out, text, &links);
    MUST(buf_ok(out));
}

static size_t lines_of(struct view text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    return lines;
}

/* A picture is sent with a type that models take, or not at all. */
static void place_picture(struct view bytes)
{
    json_t *messages = json_pack("[{s:s, s:s}]", "role", "user", "content", "");
    json_t *content;
    struct request_image picture = { .message = json_array_get(messages, 0) };

    buf_init(&picture.bytes, bytes.len + 1);
    buf_add(&picture.bytes, bytes);
    images_place(messages, &picture, 1);
    content = json_object_get(json_array_get(messages, 0), "content");
    if (json_is_array(content)) {
        json_t *part = json_array_get(content, json_array_size(content) - 1);
        json_t *image = json_object_get(part, "image_url");
        const char *url = json_string_value(json_object_get(image, "url"));
        MUST(url != NULL && view_starts(view_of(url), "data:image/"));
    }
    json_decref(messages);
    buf_finish(&picture.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view text = { (const char *)data, size };
    CLEANUP(buf_finish) struct buf none;
    CLEANUP(buf_finish) struct buf once;
    write(&none, text, 0);
    MUST(view_equal(buf_view(&none), text));
    write(&once, text, 1);
    MUST(lines_of(buf_view(&once)) == lines_of(text));
    place_picture(text);
    return 0;
}
