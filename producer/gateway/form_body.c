/* form_body.c - the body of a request as multipart/form-data: fields and files.
 */
#include "producer/gateway/form_body.h"

#include <string.h>

#include "schemas/message/limits.h"

enum { MOST_SHOWN = 64 };

void form_init(struct form_body *form, struct gateway *gateway,
               unsigned int partition)
{
    *form = (struct form_body){ .memory = { .gateway = gateway },
                                .partition = partition };
    buf_init(&form->value, FORM_MAX_FIELD_BYTES);
}

void form_finish(struct form_body *form)
{
    for (size_t i = 0; i < form->file_count; i++)
        blob_writer_finish(&form->files[i].writer);
    multipart_finish(&form->reader);
    buf_finish(&form->value);
    arena_finish(&form->arena);
    blob_memory_give(&form->memory);
}

/* ---------------------------------------------------------------- the parts */

/* The first refusal counts. */
#define form_refuse(form, code, ...)                                           \
    ((form)->refusal.kind == ERR_NONE                                          \
         ? err_set(&(form)->refusal, ERR_REJECT, code, __VA_ARGS__)            \
         : false)

/* A copy that lives as long as the form; it counts against --blob-memory. */
static struct view form_keep(struct form_body *form, struct view text)
{
    struct err err;

    if (blob_memory_take(&form->memory, text.len, &err))
        return arena_copy(&form->arena, text);
    if (form->refusal.kind == ERR_NONE)
        form->refusal = err;
    return (struct view){ "", 0 };
}

/* "text/csv; charset=utf-8" without its parameters. */
static struct view form_media_type(struct view type)
{
    const char *end = type.len > 0 ? memchr(type.data, ';', type.len) : NULL;

    if (end)
        type.len = (size_t)(end - type.data);
    type = view_trimmed(type);
    return type.len <= MAX_NAME_BYTES ? type : (struct view){ "", 0 };
}

/* False: refused. */
static bool check_path(struct form_body *form, struct view path)
{
    return file_path_is_valid(path) ||
           form_refuse(form, "bad_field",
                       "filename is \"%.*s\", must be a path of names "
                       "between /, %d bytes in all, none of them empty, . or "
                       "..",
                       VIEW_ARG(view_head(path, MOST_SHOWN)),
                       MAX_FILE_NAME_BYTES);
}

static void begin_file(struct form_body *form,
                       const struct multipart_part *part)
{
    struct form_file *file = &form->files[form->file_count];
    /* Some clients send a path: its last part counts, as RFC 7578 has it. */
    struct view name = file_base_name(part->file);

    if (form->file_count == FORM_MAX_FILES) {
        form_refuse(form, "too_large", "the form has more than %d files",
                    FORM_MAX_FILES);
        return;
    }
    if (form->keeps_folders) {
        name = part->file;
        if (!check_path(form, name))
            return;
    } else if (!file_name_is_valid(name)) {
        form_refuse(form, "bad_field",
                    "filename is \"%.*s\", must end in a name of 1 to %d "
                    "bytes that is not . or ..",
                    VIEW_ARG(view_head(name, MOST_SHOWN)), MAX_FILE_NAME_BYTES);
        return;
    }
    file->field = form_keep(form, part->name);
    file->name = form_keep(form, name);
    file->mime = form_keep(form, form_media_type(part->type));
    blob_writer_init(&file->writer, form->memory.gateway, form->partition);
    form->file_count++;
}

static void begin_field(struct form_body *form,
                        const struct multipart_part *part)
{
    if (form->field_count == FORM_MAX_FIELDS) {
        form_refuse(form, "too_large", "the form has more than %d fields",
                    FORM_MAX_FIELDS);
        return;
    }
    form->fields[form->field_count].name = form_keep(form, part->name);
    buf_clear(&form->value);
}

static void on_part(void *owner, const struct multipart_part *part)
{
    struct form_body *form = owner;

    form->in_file = part->has_file;
    if (form->refusal.kind != ERR_NONE)
        return;
    if (part->name.len > FORM_MAX_NAME_BYTES)
        form_refuse(form, "too_large",
                    "the name of a field has %zu bytes, at most %d",
                    part->name.len, FORM_MAX_NAME_BYTES);
    else if (form->in_file)
        begin_file(form, part);
    else
        begin_field(form, part);
}

static void on_data(void *owner, struct view piece)
{
    struct form_body *form = owner;
    struct err err;

    if (form->refusal.kind != ERR_NONE)
        return;
    if (!form->in_file)
        buf_add(&form->value, piece); /* on_part_end() looks at it */
    else if (!blob_writer_add(&form->files[form->file_count - 1].writer, piece,
                              &err))
        form->refusal = err;
}

static void end_field(struct form_body *form)
{
    struct form_field *field = &form->fields[form->field_count];
    struct view name = view_head(field->name, MOST_SHOWN);
    struct view value = buf_view(&form->value);

    if (!buf_ok(&form->value))
        form_refuse(form, "too_large", "%.*s has more than %d bytes",
                    VIEW_ARG(name), FORM_MAX_FIELD_BYTES);
    else if (!view_is_utf8(value) ||
             (value.len > 0 && memchr(value.data, '\0', value.len)))
        form_refuse(form, "bad_field", "%.*s must be UTF-8 without NUL",
                    VIEW_ARG(name));
    field->value = form_keep(form, value);
    form->field_count++;
}

static void on_part_end(void *owner)
{
    struct form_body *form = owner;

    if (form->refusal.kind != ERR_NONE)
        return;
    if (form->in_file) {
        struct form_file *file = &form->files[form->file_count - 1];

        file->bytes = file->writer.bytes.len;
    } else {
        end_field(form);
    }
}

static const struct multipart_events parts = { on_part, on_data, on_part_end };

/* ------------------------------------------------------------------ the body
 */

bool form_begin(struct form_body *form, struct view type, struct err *err)
{
    return multipart_init(&form->reader, type, &parts, form, err);
}

bool form_feed(struct form_body *form, struct view piece, struct err *err)
{
    if (!multipart_feed(&form->reader, piece, err))
        return false;
    if (form->refusal.kind == ERR_NONE)
        return true;
    *err = form->refusal;
    return false;
}

bool form_end(const struct form_body *form, struct err *err)
{
    return multipart_end(&form->reader, err);
}

/* ---------------------------------------------------------------- its fields
 */

const struct form_field *form_find(const struct form_body *form,
                                   const char *name)
{
    for (size_t i = 0; i < form->field_count; i++)
        if (view_is(form->fields[i].name, name))
            return &form->fields[i];
    return NULL;
}

static size_t count_name(const struct form_body *form, struct view name)
{
    size_t count = 0;

    for (size_t i = 0; i < form->field_count; i++)
        count += view_equal(form->fields[i].name, name);
    for (size_t i = 0; i < form->file_count; i++)
        count += view_equal(form->files[i].field, name);
    return count;
}

static bool check_name(const struct form_body *form, const char *const *known,
                       struct view name, struct err *err)
{
    bool may_repeat =
        name.len > 2 && memcmp(name.data + name.len - 2, "[]", 2) == 0;
    struct view shown = view_head(name, MOST_SHOWN);

    while (*known && !view_is(name, *known))
        known++;
    if (!*known)
        return err_set(err, ERR_REJECT, "unknown_parameter",
                       "the form has a field \"%.*s\", which this route does "
                       "not know",
                       VIEW_ARG(shown));
    return may_repeat || count_name(form, name) == 1 ||
           err_set(err, ERR_REJECT, "bad_field",
                   "the form has the field \"%.*s\" twice", VIEW_ARG(shown));
}

bool form_check_names(const struct form_body *form, const char *const *known,
                      struct view *param, struct err *err)
{
    for (size_t i = 0; i < form->field_count; i++) {
        *param = form->fields[i].name;
        if (!check_name(form, known, *param, err))
            return false;
    }
    for (size_t i = 0; i < form->file_count; i++) {
        *param = form->files[i].field;
        if (!check_name(form, known, *param, err))
            return false;
    }
    return true;
}
