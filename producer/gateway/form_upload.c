/* form_upload.c - receives a form with files, and writes the files as blobs. */
#include "producer/gateway/form_body.h"
#include "schemas/message/limits.h"

static void on_piece(struct api_request *request, struct view piece)
{
    struct err err;

    if (!request->exchange)
        return;
    if (!form_feed(request->form, piece, &err))
        api_request_refuse(request, &err);
}

static void on_whole(struct api_request *request)
{
    struct form_body *form = request->form;
    struct err err;

    if (!request->exchange)
        return;
    if (form_end(form, &err))
        form->done(request);
    else
        api_request_refuse(request, &err);
}

/* A length that is too long is refused in the words for files, since nothing
 * else of a form is long; false: refused. */
static bool check_length(struct api_request *request)
{
    const struct http_head *head = http_request_head(request->exchange);
    struct err err;

    if (!head->has_length || head->length <= request->route->max_body)
        return true;
    err_set(&err, ERR_REJECT, "file_too_large",
            "the form has %llu bytes, at most %zu: a file may have up "
            "to " MAX_FILE_WORDS,
            (unsigned long long)head->length, request->route->max_body);
    api_request_refuse(request, &err);
    return false;
}

void form_receive(struct api_request *request, struct form_body *form,
                  void (*done)(struct api_request *request))
{
    struct view type;
    struct err err;

    request->form = form;
    form->done = done;
    if (!check_length(request))
        return;
    if (http_request_value(request->exchange, "Content-Type", &type, &err) &&
        form_begin(form, type, &err))
        api_request_receive(request, on_piece, on_whole);
    else
        api_request_refuse(request, &err);
}

/* ---------------------------------------------------------------- its files */

static void write_next(struct api_request *request);

static void on_file_written(struct api_request *request)
{
    struct form_body *form = request->form;

    blob_writer_finish(&form->files[form->written++].writer);
    write_next(request);
}

static void write_next(struct api_request *request)
{
    struct form_body *form = request->form;

    if (form->written == form->file_count)
        form->done(request);
    else
        blob_writer_send(request, &form->files[form->written].writer,
                         on_file_written);
}

void form_write(struct api_request *request, struct form_body *form,
                void (*done)(struct api_request *request))
{
    request->form = form;
    form->done = done;
    form->written = 0;
    write_next(request);
}
