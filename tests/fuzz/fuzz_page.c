/* fuzz_page.c - whatever a server sends, what a model is given is JSON of text,
 * or a sentence. The first byte chooses what the document is called. */
#include <jansson.h>
#include <string.h>

#include "consumer/tools/document.h"
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
    if (!document_read(&document, &out, &err)) {
        MUST(err.kind != ERR_NONE && *err.text != '\0');
        return 0;
    }
    json_t *object =
        json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *text = json_object_get(object, "text");
    if (document.kind == DOCUMENT_RESULTS)
        MUST(json_is_array(json_object_get(object, "results")));
    else
        MUST(json_is_string(text) && json_string_length(text) <= MAX_EXCERPT);
    json_decref(object);
    return 0;
}
