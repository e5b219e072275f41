/* plugs.c - the table of routes in the form of other programs. */
#include "producer/gateway/plugs/plugs.h"

#include <stddef.h>

#include "schemas/message/limits.h"

enum {
    CODE_BYTES = 2 << 20,
    UPLOAD_BYTES = MAX_FILE_BYTES + (1 << 20), /* with its fields */
    BATCH_BYTES = 2 * MAX_FILE_BYTES + (1 << 20),
};

static const char *const dependencies_query[] = { "language", NULL };

/* Whose file it is among LibreChat's users: not used here. */
#define OF_LIBRECHAT "kind", "id", "version", "entity_id"

static const char *const of_file[] = { OF_LIBRECHAT, NULL };
static const char *const of_list[] = { OF_LIBRECHAT, "detail", NULL };

static const struct api_route routes[] = {
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/sandbox/run",
      .scope = SCOPE_SUBMIT,
      .handle = dify_run,
      .body = ROUTE_JSON_NEEDED,
      .max_body = CODE_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/sandbox/dependencies",
      .scope = SCOPE_SUBMIT,
      .handle = dify_dependencies,
      .query = dependencies_query },
    { .method = HTTP_METHOD_GET, .pattern = "/health", .handle = dify_health },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/librechat/exec",
      .scope = SCOPE_SUBMIT,
      .handle = librechat_exec,
      .body = ROUTE_JSON_NEEDED,
      .max_body = CODE_BYTES,
      .short_errors = true },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/librechat/exec/programmatic",
      .scope = SCOPE_SUBMIT,
      .handle = librechat_programmatic,
      .body = ROUTE_JSON_NEEDED,
      .max_body = CODE_BYTES,
      .short_errors = true },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/librechat/upload",
      .scope = SCOPE_SUBMIT,
      .handle = librechat_upload,
      .body = ROUTE_FORM,
      .max_body = UPLOAD_BYTES,
      .short_errors = true },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/librechat/upload/batch",
      .scope = SCOPE_SUBMIT,
      .handle = librechat_upload_batch,
      .body = ROUTE_FORM,
      .max_body = BATCH_BYTES,
      .short_errors = true },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/librechat/files/{session}",
      .scope = SCOPE_READ,
      .handle = librechat_files_list,
      .query = of_list,
      .short_errors = true },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/librechat/files/{session}/{file}",
      .scope = SCOPE_SUBMIT,
      .handle = librechat_files_delete,
      .query = of_file,
      .short_errors = true },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/librechat/download/{session}/{file}",
      .scope = SCOPE_READ,
      .handle = librechat_files_download,
      .query = of_file,
      .short_errors = true },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/librechat/sessions/{session}/objects/{file}",
      .scope = SCOPE_READ,
      .handle = librechat_files_show,
      .query = of_file,
      .short_errors = true },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/librechat/health",
      .handle = librechat_health,
      .short_errors = true },
};

const struct route_table plugs_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
    "plugs",
};
