/* answer.c - what all routes of OpenAI's APIs answer alike: an error, and a
 * page of a list. */
#include <stdarg.h>
#include <stdio.h>

#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/response_list.h"

static const char *error_type(unsigned int status)
{
    if (status >= 500)
        return "server_error";
    return status == 429 ? "rate_limit_error" : "invalid_request_error";
}

void openai_refuse(struct api_request *request, unsigned int status,
                   const char *code, const char *param, const char *format, ...)
{
    const struct http_pair headers[] = {
        { VIEW("Content-Type"), VIEW("application/json") },
        { VIEW("x-should-retry"), VIEW("false") }, /* of a cancelled job */
    };
    bool is_in_vain = code && strcmp(code, "cancelled") == 0;
    CLEANUP(buf_finish) struct buf body = { .max = 4096 };
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    http_error_write(&(struct http_error){ .status = status,
                                           .message = text,
                                           .type = error_type(status),
                                           .param = param,
                                           .code = code },
                     &body);
    api_request_answer(request, status, headers, is_in_vain ? 2 : 1,
                       buf_view(&body));
}

void openai_refuse_body(struct api_request *request,
                        const struct body_error *error)
{
    openai_refuse(request, error->status, error->code,
                  *error->param ? error->param : NULL, "%s", error->message);
}

void openai_answer_page(struct api_request *request, const json_t *items)
{
    struct response_page page;
    struct body_error error;
    json_t *list = NULL;

    if (response_page_read(&page, api_request_query(request, "limit"),
                           api_request_query(request, "order"),
                           api_request_query(request, "after"), &error))
        list = response_list(items, &page, &error);
    if (list)
        api_request_json(request, 200, list);
    else
        openai_refuse_body(request, &error);
}
