/* native.c - the table of quern's own routes. */
#include "producer/gateway/native/native.h"

#include <stddef.h>

#include "schemas/message/limits.h"

enum {
    JOB_BYTES = 2 << 20, /* as JSON; as MessagePack MAX_JOB_BYTES hold */
    VERDICT_BYTES = 512 << 10,
    SMALL_BYTES = 16 << 10,
};

static const char *const list_query[] = {
    "tenant",     "state",  "place",  "queue",    "session", "worker",
    "error_code", "reason", "model",  "metadata", "id",      "since",
    "until",      "limit",  "cursor", NULL,
};

static const char *const events_query[] = { "after", NULL };
static const char *const show_query[] = { "wait", NULL };
static const char *const of_image[] = { "frame", NULL };

static const struct api_route routes[] = {
    { .method = HTTP_METHOD_GET, .pattern = "/livez", .handle = health_live },
    { .method = HTTP_METHOD_GET, .pattern = "/readyz", .handle = health_ready },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/jobs",
      .scope = SCOPE_SUBMIT,
      .handle = submit_job,
      .body = ROUTE_JSON_NEEDED,
      .max_body = JOB_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs",
      .scope = SCOPE_READ,
      .handle = list_jobs,
      .query = list_query },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}",
      .scope = SCOPE_READ,
      .handle = jobs_show,
      .query = show_query },
    { .method = HTTP_METHOD_DELETE,
      .pattern = "/v1/jobs/{id}",
      .scope = SCOPE_SUBMIT,
      .handle = jobs_remove },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}/events",
      .scope = SCOPE_READ,
      .handle = events_follow,
      .query = events_query },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}/body",
      .scope = SCOPE_READ,
      .handle = jobs_body },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}/explain",
      .scope = SCOPE_READ,
      .handle = explain_job },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}/replay",
      .scope = SCOPE_OPERATE,
      .handle = replay_job },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/jobs/{id}/cancel",
      .scope = SCOPE_SUBMIT,
      .handle = jobs_cancel,
      .body = ROUTE_JSON,
      .max_body = SMALL_BYTES },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/jobs/{id}/approve",
      .scope = SCOPE_SUBMIT,
      .handle = jobs_approve,
      .body = ROUTE_JSON,
      .max_body = VERDICT_BYTES },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/jobs/{id}/retry",
      .scope = SCOPE_SUBMIT,
      .handle = jobs_retry,
      .body = ROUTE_JSON,
      .max_body = SMALL_BYTES },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}/files/{name}",
      .scope = SCOPE_READ,
      .handle = files_read },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/jobs/{id}/images/{name}",
      .scope = SCOPE_READ,
      .handle = images_read,
      .query = of_image },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/links/{token}",
      .handle = links_read },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/exec",
      .scope = SCOPE_SUBMIT,
      .handle = exec_run,
      .body = ROUTE_JSON_NEEDED,
      .max_body = JOB_BYTES },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/blobs",
      .scope = SCOPE_SUBMIT,
      .handle = blobs_write,
      .body = ROUTE_BYTES,
      .max_body = MAX_FILE_BYTES },
};

const struct route_table native_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
    "jobs",
};
