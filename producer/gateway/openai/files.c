/* files.c - /v1/files: files that clients upload, list, read and delete.
 *
 *   form --> its fields are checked --> the file becomes a blob
 *        --> the record is made, which keeps the blob until it expires
 */
#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/gateway/file_answer.h"
#include "producer/gateway/form_body.h"
#include "producer/gateway/openai/openai.h"
#include "schemas/message/limits.h"
#include "schemas/redis/file.h"

enum {
    LIST_MOST = 10000, /* that a client may ask for */
    LEAST_SECONDS = 3600,
    MOST_SECONDS = 2592000,
};

static const char *const purposes[] = {
    "assistants", "batch", "fine-tune", "vision", "user_data", "evals", NULL,
};

struct file_upload {
    struct form_body form;
    char id[FILE_ID_BYTES];
    struct file_record record;
    uint64_t life_ms;
    unsigned int partition;
};

/* ------------------------------------------------------------- the answers */

static json_t *file_json(const struct file_record *file)
{
    return json_pack(
        "{s:s%, s:s, s:I, s:I, s:I, s:s%, s:s%, s:s}", "id", file->id.data,
        file->id.len, "object", "file", "bytes", (json_int_t)file->bytes,
        "created_at", (json_int_t)(file->created_at / 1000), "expires_at",
        (json_int_t)(file->expires_at / 1000), "filename", file->name.data,
        file->name.len, "purpose", file->purpose.data, file->purpose.len,
        "status", "processed");
}

static void refuse_no_file(struct api_request *request)
{
    openai_refuse(request, 404, "not_found", "file_id",
                  "There is no file with the id '%.*s'.",
                  VIEW_ARG(view_head(request->params[0], 64)));
}

/* False: refused. */
static bool find_partition(struct api_request *request, unsigned int *partition)
{
    return api_request_partition(request, view_of(request->caller.tenant),
                                 partition);
}

/* ------------------------------------------------------------------ upload */

static void file_upload_free(void *state)
{
    struct file_upload *upload = state;

    form_finish(&upload->form);
    free(upload);
}

static void on_recorded(struct api_request *request, const redisReply *reply)
{
    struct file_upload *upload = request->state;
    struct err err;

    if (transition_file_is_set(reply, &upload->record, &err))
        api_request_json(request, 200, file_json(&upload->record));
    else
        api_request_refuse(request, &err);
}

static void record_file(struct api_request *request)
{
    struct file_upload *upload = request->state;
    const struct form_file *file = &upload->form.files[0];
    struct command command;

    file_id_make(upload->id);
    upload->record.id = view_of(upload->id);
    upload->record.name = file->name;
    upload->record.mime = file->mime;
    upload->record.blob = view_of(file->writer.sha256);
    upload->record.bytes = file->bytes;
    transition_file_set(&command, &request->gateway->names, upload->partition,
                        view_of(request->caller.tenant), &upload->record,
                        upload->life_ms);
    api_request_call(request, upload->partition, &command, on_recorded);
    command_finish(&command);
}

static bool purpose_is_known(struct view purpose)
{
    for (size_t i = 0; purposes[i]; i++)
        if (view_is(purpose, purposes[i]))
            return true;
    return false;
}

/* False: refused. */
static bool read_purpose(struct api_request *request)
{
    struct file_upload *upload = request->state;
    const struct form_field *field = form_find(&upload->form, "purpose");

    if (!field) {
        openai_refuse(request, 400, "missing_required_parameter", "purpose",
                      "purpose is required");
        return false;
    }
    if (!purpose_is_known(field->value)) {
        openai_refuse(request, 400, "invalid_value", "purpose",
                      "purpose is \"%.*s\", must be one of assistants, batch, "
                      "fine-tune, vision, user_data, evals",
                      VIEW_ARG(view_head(field->value, 64)));
        return false;
    }
    upload->record.purpose = field->value;
    return true;
}

/* At most nine digits; false: it is no number. */
static bool read_seconds(struct view text, uint64_t *seconds)
{
    *seconds = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (i == 9 || text.data[i] < '0' || text.data[i] > '9')
            return false;
        *seconds = *seconds * 10 + (uint64_t)(text.data[i] - '0');
    }
    return text.len > 0;
}

/* expires_after[anchor] and [seconds]: both, or none. False: refused. */
static bool read_life(struct api_request *request)
{
    struct file_upload *upload = request->state;
    const struct form_field *anchor =
        form_find(&upload->form, "expires_after[anchor]");
    const struct form_field *given =
        form_find(&upload->form, "expires_after[seconds]");
    uint64_t seconds;

    upload->life_ms = request->gateway->settings.file_ttl_ms;
    if (!anchor && !given)
        return true;
    if (!anchor || !view_is(anchor->value, "created_at")) {
        openai_refuse(request, 400, "invalid_value", "expires_after[anchor]",
                      "expires_after[anchor] must be created_at");
        return false;
    }
    if (!given || !read_seconds(given->value, &seconds) ||
        seconds < LEAST_SECONDS || seconds > MOST_SECONDS) {
        openai_refuse(request, 400, "invalid_value", "expires_after[seconds]",
                      "expires_after[seconds] is \"%.*s\", must be %d to %d",
                      VIEW_ARG(view_head(given ? given->value : VIEW(""), 64)),
                      LEAST_SECONDS, MOST_SECONDS);
        return false;
    }
    upload->life_ms = seconds * 1000;
    return true;
}

static void on_form(struct api_request *request)
{
    static const char *const names[] = { "file", "purpose",
                                         "expires_after[anchor]",
                                         "expires_after[seconds]", NULL };
    struct file_upload *upload = request->state;
    struct form_body *form = &upload->form;
    struct view param;
    struct err err;

    if (!form_check_names(form, names, &param, &err)) {
        char name[FORM_MAX_NAME_BYTES + 1];

        view_copy(name, sizeof(name), param);
        openai_refuse(request, 400, err.code, name, "%s", err.text);
        return;
    }
    if (form->file_count != 1 || !view_is(form->files[0].field, "file"))
        openai_refuse(request, 400, "missing_required_parameter", "file",
                      "file is required: a part of the form with a filename");
    else if (read_purpose(request) && read_life(request))
        form_write(request, form, record_file);
}

void openai_files_create(struct api_request *request)
{
    struct file_upload *upload;
    unsigned int partition;

    if (!find_partition(request, &partition))
        return;
    upload = calloc(1, sizeof(*upload));
    if (!upload)
        abort();
    upload->partition = partition;
    form_init(&upload->form, request->gateway, partition);
    request->state = upload;
    request->state_free = file_upload_free;
    form_receive(request, &upload->form, on_form);
}

/* ---------------------------------------------------------------- one file */

/* Asks for the record that the path names. */
static void ask_record(struct api_request *request, api_request_reply *found)
{
    struct command command;
    unsigned int partition;

    if (!find_partition(request, &partition))
        return;
    if (!file_id_is_valid(request->params[0])) {
        refuse_no_file(request);
        return;
    }
    file_ask(&command, &request->gateway->names, partition, request->params[0]);
    api_request_call(request, partition, &command, found);
    command_finish(&command);
}

/* False: refused. */
static bool file_of_reply(struct api_request *request, const redisReply *reply,
                          struct file_record *file)
{
    if (file_read(reply, request->params[0], view_of(request->caller.tenant),
                  file))
        return true;
    refuse_no_file(request);
    return false;
}

static void show_record(struct api_request *request, const redisReply *reply)
{
    struct file_record file;

    if (file_of_reply(request, reply, &file))
        api_request_json(request, 200, file_json(&file));
}

void openai_files_show(struct api_request *request)
{
    ask_record(request, show_record);
}

static void answer_content(struct api_request *request, const redisReply *reply)
{
    struct answered_file answered;
    struct file_record file;

    if (!file_of_reply(request, reply, &file))
        return;
    answered = (struct answered_file){ .blob = file.blob,
                                       .name = file.name,
                                       .mime = file.mime,
                                       .bytes = file.bytes };
    if (find_partition(request, &answered.partition))
        file_answer(request, &answered);
}

void openai_files_content(struct api_request *request)
{
    ask_record(request, answer_content);
}

static void on_file_removed(struct api_request *request,
                            const redisReply *reply)
{
    struct view id = request->params[0];
    struct err err;
    bool was;

    if (!transition_file_removed(reply, &was, &err))
        api_request_refuse(request, &err);
    else if (!was)
        refuse_no_file(request);
    else
        api_request_json(request, 200,
                         json_pack("{s:s%, s:s, s:b}", "id", id.data, id.len,
                                   "object", "file", "deleted", 1));
}

void openai_files_delete(struct api_request *request)
{
    struct command command;
    unsigned int partition;

    if (!find_partition(request, &partition))
        return;
    if (!file_id_is_valid(request->params[0])) {
        refuse_no_file(request);
        return;
    }
    transition_file_rm(&command, &request->gateway->names, partition,
                       view_of(request->caller.tenant), request->params[0]);
    api_request_call(request, partition, &command, on_file_removed);
    command_finish(&command);
}

/* -------------------------------------------------------------------- list */

static void on_listed(struct api_request *request, const redisReply *reply)
{
    json_t *list = json_array();
    struct file_record file;
    struct err err;
    size_t count;
    bool more;

    if (!transition_file_listed(reply, &count, &more, &err)) {
        json_decref(list);
        api_request_refuse(request, &err);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (transition_file_row(reply, i, &file))
            json_array_append_new(list, file_json(&file));
    count = json_array_size(list);
    api_request_json(
        request, 200,
        json_pack("{s:s, s:o, s:O?, s:O?, s:b}", "object", "list", "data", list,
                  "first_id", json_object_get(json_array_get(list, 0), "id"),
                  "last_id",
                  count > 0
                      ? json_object_get(json_array_get(list, count - 1), "id")
                      : NULL,
                  "has_more", (int)more));
}

/* False: refused. */
static bool read_page(struct api_request *request, struct file_page *page)
{
    struct view order = api_request_query(request, "order");
    uint64_t limit;

    page->after = api_request_query(request, "after");
    page->purpose = api_request_query(request, "purpose");
    if (!api_request_number(request, "limit", LIST_MOST, LIST_MOST, &limit))
        return false;
    page->count = limit < FILE_MAX_PAGE ? limit : FILE_MAX_PAGE;
    page->ascending = view_is(order, "asc");
    if (limit == 0)
        openai_refuse(request, 400, "invalid_value", "limit",
                      "limit is 0, must be 1 to %d", LIST_MOST);
    else if (order.len > 0 && !page->ascending && !view_is(order, "desc"))
        openai_refuse(request, 400, "invalid_value", "order",
                      "order is \"%.*s\", must be asc or desc",
                      VIEW_ARG(view_head(order, 64)));
    else if (page->after.len > 0 && !file_id_is_valid(page->after))
        openai_refuse(request, 400, "invalid_value", "after",
                      "after is \"%.*s\", must be the id of a file",
                      VIEW_ARG(view_head(page->after, 64)));
    else if (page->purpose.len > 0 && !purpose_is_known(page->purpose))
        openai_refuse(request, 400, "invalid_value", "purpose",
                      "no file has the purpose \"%.*s\"",
                      VIEW_ARG(view_head(page->purpose, 64)));
    else
        return true;
    return false;
}

void openai_files_list(struct api_request *request)
{
    struct command command;
    struct file_page page;
    unsigned int partition;

    if (!read_page(request, &page) || !find_partition(request, &partition))
        return;
    transition_file_list(&command, &request->gateway->names, partition,
                         view_of(request->caller.tenant), &page);
    api_request_call(request, partition, &command, on_listed);
    command_finish(&command);
}
