/* librechat_upload.c - POST /v1/librechat/upload and .../batch: files for runs.
 *
 *   form --> its files become blobs --> a record of each, which keeps the blob
 *        for a day
 *
 * A record is one of /v1/files, too. Its id says which upload it is of
 * (librechat_ids.h). The kind, id and version that LibreChat sends say whose
 * file it is among its own users: here all files are the key's tenant's. */
#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/gateway/form_body.h"
#include "producer/gateway/plugs/librechat_ids.h"
#include "producer/gateway/plugs/plugs.h"

enum { LIFE_MS = 24 * 3600 * 1000 };

/* The state of the request. */
struct librechat_upload {
    struct form_body form; /* first, for upload_free() */
    bool is_batch;
    unsigned int partition;
    char first[FILE_ID_BYTES]; /* of file number 0: the session */
    char id[FILE_ID_BYTES];    /* of the file that is being recorded */
    struct file_record record;
    size_t recorded;
    size_t failed;
    json_t *files; /* of the answer */
};

static void upload_free(void *state)
{
    struct librechat_upload *upload = state;

    form_finish(&upload->form);
    json_decref(upload->files);
    free(upload);
}

/* ------------------------------------------------------------------ records */

static void record_next(struct api_request *request);

static void add_good(struct librechat_upload *upload)
{
    struct librechat_id id = librechat_id_of_record(upload->record.id);

    json_array_append_new(upload->files,
                          json_pack("{s:s, s:s, s:s%}", "status", "success",
                                    "fileId", id.text, "filename",
                                    upload->record.name.data,
                                    upload->record.name.len));
}

static void add_bad(struct librechat_upload *upload, const struct err *err)
{
    upload->failed++;
    json_array_append_new(
        upload->files, json_pack("{s:s, s:s%, s:s}", "status", "error",
                                 "filename", upload->record.name.data,
                                 upload->record.name.len, "error", err->text));
}

static void on_recorded(struct api_request *request, const redisReply *reply)
{
    struct librechat_upload *upload = request->state;
    struct err err;

    upload->recorded++;
    if (transition_file_is_set(reply, &upload->record, &err)) {
        add_good(upload);
    } else if (upload->is_batch) {
        add_bad(upload, &err);
    } else {
        api_request_refuse(request, &err);
        return;
    }
    record_next(request);
}

static void answer_upload(struct api_request *request)
{
    struct librechat_upload *upload = request->state;
    struct librechat_id session =
        librechat_id_of_record(view_of(upload->first));
    size_t good = upload->recorded - upload->failed;
    const char *message = upload->failed == 0 ? "success"
                          : good > 0          ? "partial_success"
                                              : "error";

    api_request_json(request, good > 0 ? 200 : 400,
                     json_pack("{s:s, s:s, s:s, s:O, s:I, s:I}", "message",
                               message, "storage_session_id", session.text,
                               "session_id", session.text, "files",
                               upload->files, "succeeded", (json_int_t)good,
                               "failed", (json_int_t)upload->failed));
}

static void record_next(struct api_request *request)
{
    struct librechat_upload *upload = request->state;
    const struct form_file *file = &upload->form.files[upload->recorded];
    struct command command;

    if (upload->recorded == upload->form.file_count) {
        answer_upload(request);
        return;
    }
    view_copy(upload->id, sizeof(upload->id), view_of(upload->first));
    librechat_record_number(upload->id, (unsigned int)upload->recorded + 1);
    upload->record = (struct file_record){
        .id = view_of(upload->id),
        .name = file->name,
        .purpose = VIEW("user_data"),
        .mime = file->mime,
        .blob = view_of(file->writer.sha256),
        .bytes = file->bytes,
    };
    transition_file_set(&command, &request->gateway->names, upload->partition,
                        view_of(request->caller.tenant), &upload->record,
                        LIFE_MS);
    api_request_call(request, upload->partition, &command, on_recorded);
    command_finish(&command);
}

/* ----------------------------------------------------------------- the form */

static void on_form(struct api_request *request)
{
    struct librechat_upload *upload = request->state;
    size_t count = upload->form.file_count;

    if (count == 0)
        api_request_wrong(request, "file",
                          "file is required: a part of the form with a "
                          "filename");
    else if (count > 1 && !upload->is_batch)
        api_request_wrong(request, "file",
                          "the form has %zu files, should have one: send "
                          "several to upload/batch",
                          count);
    else
        form_write(request, &upload->form, record_next);
}

static void upload_start(struct api_request *request, bool is_batch)
{
    struct librechat_upload *upload;
    unsigned int partition;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    upload = calloc(1, sizeof(*upload));
    if (!upload)
        abort();
    upload->is_batch = is_batch;
    upload->partition = partition;
    upload->files = json_array();
    file_id_make(upload->first);
    librechat_record_number(upload->first, 0);
    form_init(&upload->form, request->gateway, partition);
    upload->form.keeps_folders = true;
    request->state = upload;
    request->state_free = upload_free;
    form_receive(request, &upload->form, on_form);
}

void librechat_upload(struct api_request *request)
{
    upload_start(request, false);
}

void librechat_upload_batch(struct api_request *request)
{
    upload_start(request, true);
}
