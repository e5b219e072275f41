/* openai.c - the table of the routes of the Responses API; those that read. */
#include "producer/gateway/openai/openai.h"

#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/key_use.h"
#include "producer/gateway/native/api_job.h"
#include "schemas/message/limits.h"
#include "schemas/redis/operate.h"
#include "schemas/redis/transition.h"

enum {
    REQUEST_BYTES = 16 << 20,
    NO_BYTES = 16 << 10,
    UPLOAD_BYTES = MAX_FILE_BYTES + (1 << 20), /* with its fields */
};

/* ------------------------------------------------------------------- read */

static bool query_is_true(const struct api_request *request, const char *name,
                          bool otherwise)
{
    struct view text = api_request_query(request, name);

    if (text.len == 0)
        return otherwise;
    return view_is(text, "true") || view_is(text, "1");
}

static void show_found(struct api_request *request)
{
    struct kept_response *kept = request->state;
    struct view last = api_request_query(request, "starting_after");
    uint64_t after;

    if (!query_is_true(request, "stream", false)) {
        openai_show(request);
        return;
    }
    if (!api_request_number(request, "starting_after", 0, UINT64_C(1) << 53,
                            &after))
        return;
    request->state = NULL;
    request->state_free = NULL;
    response_reader_stream(request, kept, last.len > 0 ? (int64_t)after : -1,
                           query_is_true(request, "include_obfuscation", true),
                           false);
}

static void responses_show(struct api_request *request)
{
    openai_load(request, show_found);
}

/* ----------------------------------------------------------------- cancel */

static void on_cancelled(struct api_request *request, const redisReply *reply)
{
    (void)reply; /* what it is now says it, too */
    openai_show(request);
}

static void cancel_found(struct api_request *request)
{
    const struct kept_response *kept = request->state;
    struct command command;

    if (!kept->wire.background) {
        openai_refuse(request, 400, "invalid_value", "response_id",
                      "only a response that was made with background can be "
                      "cancelled");
        return;
    }
    transition_cancel(&command, &request->gateway->names, view_of(kept->job),
                      VIEW("cancelled over HTTP"));
    api_request_call(request, api_job_partition(request), &command,
                     on_cancelled);
    command_finish(&command);
}

static void responses_cancel(struct api_request *request)
{
    openai_load(request, cancel_found);
}

/* ----------------------------------------------------------------- delete */

static void refuse_running(struct api_request *request)
{
    openai_refuse(request, 409, "response_in_progress", "response_id",
                  "the response is still in progress: cancel it or wait for "
                  "its end, and delete it then");
}

static void on_removed(struct api_request *request, const redisReply *reply)
{
    const struct kept_response *kept = request->state;
    char id[RESPONSE_ID_BYTES];

    if (view_is(reply_view(reply), "late")) {
        refuse_running(request);
        return;
    }
    response_id_write(id, view_of(kept->job));
    api_request_json(request, 200,
                     json_pack("{s:s, s:s, s:b}", "id", id, "object",
                               "response", "deleted", 1));
}

/* With all that is kept of the job goes what was asked, in one step. */
static void delete_counted(struct api_request *request)
{
    const struct kept_response *kept = request->state;
    struct command command;

    transition_remove(&command, &request->gateway->names, view_of(kept->job));
    api_request_call(request, api_job_partition(request), &command, on_removed);
    command_finish(&command);
}

static void delete_found(struct api_request *request)
{
    const struct kept_response *kept = request->state;

    if (!job_state_is_terminal(kept->state)) {
        refuse_running(request);
        return;
    }
    key_use_count(request, view_of(kept->job), delete_counted);
}

static void responses_delete(struct api_request *request)
{
    openai_load(request, delete_found);
}

/* ------------------------------------------------------------------ table */

static const char *const of_show[] = {
    "stream",    "starting_after", "include_obfuscation",
    "include[]", "include",        NULL
};

static const char *const of_input_items[] = { "limit",     "order",   "after",
                                              "include[]", "include", NULL };

static const char *const of_pages[] = { "limit", "order", "after", NULL };
static const char *const of_containers[] = { "limit", "order", "after", "name",
                                             NULL };

static const char *const of_include[] = { "include[]", "include", NULL };

static const char *const of_files[] = { "limit", "order", "after", "purpose",
                                        NULL };

static const struct api_route routes[] = {
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/responses",
      .scope = SCOPE_SUBMIT,
      .handle = responses_create,
      .body = ROUTE_JSON_NEEDED,
      .max_body = REQUEST_BYTES },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/chat/completions",
      .scope = SCOPE_SUBMIT,
      .handle = chat_create,
      .body = ROUTE_JSON_NEEDED,
      .max_body = REQUEST_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/models",
      .scope = SCOPE_READ,
      .handle = models_list },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/models/{id}",
      .scope = SCOPE_READ,
      .handle = models_show },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/models/{owner}/{id}",
      .scope = SCOPE_READ,
      .handle = models_show },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/responses/{id}",
      .scope = SCOPE_READ,
      .handle = responses_show,
      .query = of_show },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/responses/{id}/input_items",
      .scope = SCOPE_READ,
      .handle = responses_input_items,
      .query = of_input_items },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/responses/{id}",
      .scope = SCOPE_SUBMIT,
      .handle = responses_delete },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/responses/{id}/cancel",
      .scope = SCOPE_SUBMIT,
      .handle = responses_cancel,
      .body = ROUTE_JSON,
      .max_body = NO_BYTES },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/conversations",
      .scope = SCOPE_SUBMIT,
      .handle = conversations_create,
      .body = ROUTE_JSON,
      .max_body = REQUEST_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/conversations/{id}",
      .scope = SCOPE_READ,
      .handle = conversations_show },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/conversations/{id}",
      .scope = SCOPE_SUBMIT,
      .handle = conversations_update,
      .body = ROUTE_JSON_NEEDED,
      .max_body = NO_BYTES },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/conversations/{id}",
      .scope = SCOPE_SUBMIT,
      .handle = conversations_delete },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/conversations/{id}/items",
      .scope = SCOPE_READ,
      .handle = conversations_list_items,
      .query = of_input_items },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/conversations/{id}/items",
      .scope = SCOPE_SUBMIT,
      .handle = conversations_add_items,
      .body = ROUTE_JSON_NEEDED,
      .max_body = REQUEST_BYTES,
      .query = of_include },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/conversations/{id}/items/{item}",
      .scope = SCOPE_READ,
      .handle = conversations_show_item,
      .query = of_include },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/conversations/{id}/items/{item}",
      .scope = SCOPE_SUBMIT,
      .handle = conversations_remove_item },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/containers",
      .scope = SCOPE_SUBMIT,
      .handle = containers_create,
      .body = ROUTE_JSON_NEEDED,
      .max_body = NO_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/containers",
      .scope = SCOPE_READ,
      .handle = containers_list,
      .query = of_containers },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/containers/{id}",
      .scope = SCOPE_READ,
      .handle = containers_show },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/containers/{id}",
      .scope = SCOPE_SUBMIT,
      .handle = containers_delete },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/containers/{id}/files",
      .scope = SCOPE_SUBMIT,
      .handle = container_files_create,
      .body = ROUTE_FORM_JSON,
      .max_body = UPLOAD_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/containers/{id}/files",
      .scope = SCOPE_READ,
      .handle = container_files_list,
      .query = of_pages },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/containers/{id}/files/{file}",
      .scope = SCOPE_READ,
      .handle = container_files_show },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/containers/{id}/files/{file}",
      .scope = SCOPE_SUBMIT,
      .handle = container_files_delete },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/containers/{id}/files/{file}/content",
      .scope = SCOPE_READ,
      .handle = container_files_content },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/files",
      .scope = SCOPE_SUBMIT,
      .handle = openai_files_create,
      .body = ROUTE_FORM,
      .max_body = UPLOAD_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/files",
      .scope = SCOPE_READ,
      .handle = openai_files_list,
      .query = of_files },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/files/{id}",
      .scope = SCOPE_READ,
      .handle = openai_files_show },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/files/{id}",
      .scope = SCOPE_SUBMIT,
      .handle = openai_files_delete },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/files/{id}/content",
      .scope = SCOPE_READ,
      .handle = openai_files_content },
};

const struct route_table openai_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
    "openai",
};
