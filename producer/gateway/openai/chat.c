/* chat.c - POST /v1/chat/completions: a response, read and answered as a chat.
 */
#include "producer/gateway/chat/chat_object.h"
#include "producer/gateway/openai/creation.h"

void chat_create(struct api_request *request)
{
    creation_begin(request, true);
}

void chat_show(struct api_request *request, const json_t *response,
               const struct result *result)
{
    const struct kept_response *kept = request->state;
    struct chat_failure failure;

    if (chat_failed(response, &failure))
        openai_refuse(request, failure.status, failure.code, NULL, "%s",
                      failure.message);
    else
        api_request_json(request, 200,
                         chat_object(&kept->wire, response, result));
}
