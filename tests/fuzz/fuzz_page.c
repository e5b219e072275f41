/* fuzz_page.c - whatever a server sends, what a model is given is JSON of text,
 * or a sentence. The first byte chooses what the document is called. */
#include <jansson.h>
#include <string.h>

#include "consumer/reader/document.h"
#include "tests/fuzz/fuzz.h"

static const char *const types[] = {
    "text/html",
    "text/html; charset=gbk",
    "",
    "text/html; charset=utf-16",
    "application/json",
    "text/plain; charset=shift_jis",
    "application/pdf",
    "text/html; charset=windows-1252",
};

static void check(const struct document *document, struct view json)
{
    json_t *object =
        json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *text = json_object_get(object, "text");
    bool found = json_is_array(json_object_get(object, "results"));
    bool read = json_is_string(text) && json_string_length(text) <= MAX_EXCERPT;
    MUST(document->kind == DOCUMENT_RESULTS ? found : read);
    json_decref(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(buf_finish) struct buf out;
    struct err err = { .kind = ERR_NONE };
    buf_init(&out, MAX_DOCUMENT_JSON);
    if (size == 0)
        return 0;
    struct document document = {
        .url = "http://h.example/a/b?c",
        .type = types[data[0] & 7],
        .bytes = { (const char *)data + 1, size - 1 },
        .offset = data[0] >> 5,
        .cut = (data[0] & 8) != 0,
        .kind = data[0] & 16 ? DOCUMENT_RESULTS : DOCUMENT_PAGE,
    };
    bool good = document_read(&document, &out, &err);
    MUST(good || (err.kind != ERR_NONE && *err.text != '\0'));
    if (good)
        check(&document, buf_view(&out));
    return 0;
}
