/* fuzz_response_request.c - any bytes as the body of POST /v1/responses: what
 * is taken becomes a job that a consumer takes, and is remembered; what is
 * refused has a sentence. */
#include <string.h>

#include "producer/gateway/body/inline_file.h"
#include "producer/gateway/responses/message_items.h"
#include "producer/gateway/responses/response_list.h"
#include "producer/gateway/responses/response_request.h"
#include "schemas/json/convert.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"

#define BLOB "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check_error(const struct body_error *error)
{
    MUST(error->status == 400 && error->type && error->code);
    MUST(error->message[0] != '\0');
    MUST(view_is_utf8(view_of(error->message)));
}

static void check_items(const json_t *messages)
{
    const struct wire_job job = { .id = VIEW(
                                      "019aa5c8-1b2c-7000-8000-000000000000") };
    json_t *items = response_input_items(&job, messages);

    MUST(json_is_array(items));
    for (size_t i = 0; i < json_array_size(items) && i < 20; i++) {
        json_t *rest = response_without_item(&job, messages, i);
        json_t *left = response_input_items(&job, rest);

        /* With a call goes its output; and an output in front of which no call
         * stands any longer may become an item. */
        MUST(json_array_size(rest) <= json_array_size(messages));
        MUST(!json_equal(left, items));
        json_decref(left);
        json_decref(rest);
    }
    json_decref(items);
}

/* What continues a response is checked only together with it. */
static void check_job(const struct response_request *request)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_JOB_BYTES };
    struct err err = { .text = "" };
    struct job job;

    json_object_set_new(request->job, "id",
                        json_string("019aa5c8-1b2c-7000-8000-000000000000"));
    MUST(json_to_message(&schema_job, request->job, &job, &arena, NULL, &err));
    MUST(message_encode(&schema_job, &job, &bytes, &err));
    if (request->previous.len > 0 || request->conversation.len > 0)
        return;
    if (!job_decode(&job, buf_view(&bytes), &arena, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    check_items(json_object_get(request->job, "messages"));
}

static void attach_all(struct response_request *request)
{
    for (size_t i = 0; i < request->attachment_count; i++) {
        const struct response_attachment *one = &request->attachments[i];
        CLEANUP(buf_finish) struct buf bytes = { .max = MAX_FILE_BYTES };

        if (one->source == ATTACHMENT_BYTES)
            MUST(inline_file_decode(one->value, &bytes) && bytes.len > 0);
        response_request_attach(request, i, VIEW("a.csv"), VIEW(BLOB), 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct response_request_options options = { false };
    struct response_request request;
    struct body_error error = { 0 };
    json_t *body, *references;

    options.refuse_other_tools = size % 2 == 1;
    body = body_parse((struct view){ (const char *)data, size }, &error);
    if (!body) {
        check_error(&error);
        return 0;
    }
    references = response_request_references(body, &error);
    if (!references)
        check_error(&error);
    json_decref(references);
    if (response_request_read(&request, body, &options, &error)) {
        attach_all(&request);
        check_job(&request);
    } else {
        check_error(&error);
    }
    response_request_finish(&request);
    json_decref(body);
    return 0;
}
