/* fuzz_chat_request.c - any bytes as the body of POST /v1/chat/completions:
 * what is taken becomes a job that a consumer takes; what is refused has a
 * sentence, which names a member of the chat. */
#include <string.h>

#include "producer/gateway/chat/chat_request.h"
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
    MUST(!view_starts(view_of(error->param), "input"));
}

static void check_job(struct response_request *request)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_JOB_BYTES };
    struct err err = { .text = "" };
    struct job job;

    for (size_t i = 0; i < request->attachment_count; i++)
        response_request_attach(request, i, VIEW("a.csv"), VIEW(BLOB), 1);
    json_object_set_new(request->job, "id",
                        json_string("019aa5c8-1b2c-7000-8000-000000000000"));
    MUST(json_to_message(&schema_job, request->job, &job, &arena, NULL, &err));
    MUST(message_encode(&schema_job, &job, &bytes, &err));
    if (!job_decode(&job, buf_view(&bytes), &arena, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void read_chat(json_t *body)
{
    static const struct response_request_options options;
    struct response_request request = { 0 };
    struct body_error error = { 0 };
    struct chat_request chat;

    if (!chat_request_read(&chat, body, &error)) {
        check_error(&error);
    } else if (response_request_read(&request, chat.body, &options, &error)) {
        chat_request_apply(&chat, request.job);
        check_job(&request);
    } else {
        chat_request_name_error(&chat, &error);
        check_error(&error);
    }
    response_request_finish(&request);
    chat_request_finish(&chat);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct body_error error = { 0 };
    json_t *body =
        body_parse((struct view){ (const char *)data, size }, &error);

    if (body)
        read_chat(body);
    else
        MUST(error.message[0] != '\0');
    json_decref(body);
    return 0;
}
