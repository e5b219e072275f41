/* fuzz_form.c - a type, LF, and a form as the gateway keeps it: within all of
 * its bounds, and in any pieces the same as in one. The first byte is the seed
 * of the pieces; from 128 on the form keeps folders. */
#include <string.h>

#include "producer/gateway/form_body.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"

enum { BLOB_MEMORY = 64 << 20 };

static void check_form(const struct form_body *form)
{
    uint64_t kept = 0; /* bytes of names and values */

    MUST(form->field_count <= FORM_MAX_FIELDS);
    MUST(form->file_count <= FORM_MAX_FILES);
    for (size_t i = 0; i < form->field_count; i++) {
        const struct form_field *field = &form->fields[i];

        MUST(field->name.len <= FORM_MAX_NAME_BYTES);
        MUST(field->value.len <= FORM_MAX_FIELD_BYTES);
        MUST(view_is_utf8(field->value));
        kept += field->name.len + field->value.len;
    }
    for (size_t i = 0; i < form->file_count; i++) {
        const struct form_file *file = &form->files[i];

        MUST(form->keeps_folders ? file_path_is_valid(file->name)
                                 : file_name_is_valid(file->name));
        MUST(file->bytes == file->writer.bytes.len);
        MUST(file->mime.len <= MAX_NAME_BYTES);
        kept += file->field.len + file->name.len + file->mime.len;
    }
    MUST(form->memory.bytes == 2 * kept);
}

/* What the form says, as a text. */
static void write_form(const struct form_body *form, struct buf *text)
{
    for (size_t i = 0; i < form->field_count; i++) {
        buf_add(text, form->fields[i].name);
        buf_add(text, form->fields[i].value);
    }
    for (size_t i = 0; i < form->file_count; i++) {
        buf_add(text, form->files[i].name);
        buf_add(text, buf_view(&form->files[i].writer.bytes));
    }
}

static void read_form(struct view type, struct view body, bool folders,
                      unsigned int seed, struct buf *text)
{
    static const char *const known[] = { "file", "purpose", "a[]", NULL };
    struct gateway gateway = { .settings = { .blob_bytes = BLOB_MEMORY } };
    struct err err = { 0 };
    struct form_body form;
    struct view param;
    bool good;

    form_init(&form, &gateway, 0);
    form.keeps_folders = folders;
    good = form_begin(&form, type, &err);
    while (good && body.len > 0) {
        size_t size = seed ? 1 + (size_t)rand_r(&seed) % 9 : body.len;

        size = size > body.len ? body.len : size;
        good = form_feed(&form, (struct view){ body.data, size }, &err);
        body.data += size;
        body.len -= size;
    }
    if (good && form_end(&form, &err)) {
        check_form(&form);
        write_form(&form, text);
        if (form_check_names(&form, known, &param, &err) &&
            form_find(&form, "purpose"))
            buf_append(text, "!", 1);
    } else {
        MUST(err.text[0]);
    }
    form_finish(&form);
    MUST(gateway.blob_bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(buf_finish) struct buf whole = { .max = BLOB_MEMORY };
    CLEANUP(buf_finish) struct buf pieces = { .max = BLOB_MEMORY };
    const char *text = (const char *)data + 1;
    const char *line = size > 1 ? memchr(text, '\n', size - 1) : NULL;
    struct view type, body;

    if (!line)
        return 0;
    type = (struct view){ text, (size_t)(line - text) };
    body = (struct view){ line + 1, size - 2 - type.len };
    read_form(type, body, data[0] & 0x80, 0, &whole);
    read_form(type, body, data[0] & 0x80, data[0] + 1u, &pieces);
    MUST(view_equal(buf_view(&whole), buf_view(&pieces)));
    return 0;
}
