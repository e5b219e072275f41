/* operate.c - the table of operators' routes. */
#include "producer/gateway/operate/operate.h"

#include <stddef.h>

enum { SMALL_BYTES = 16 << 10, SCHEDULE_BYTES = 2 << 20 };

static const char *const of_queue[] = { "queue", NULL };
static const char *const of_dead[] = { "queue", "skip", "limit", NULL };
static const char *const of_keys[] = { "tenant", NULL };
static const char *const of_overview[] = { "span", NULL };
static const char *const of_figures[] = { "since", NULL };

/* What reads, and needs no body. */
#define READS(PATTERN, SCOPE, HANDLE, QUERY)                                   \
    {                                                                          \
        .method = HTTP_METHOD_GET, .pattern = (PATTERN), .scope = (SCOPE),     \
        .handle = (HANDLE), .query = (QUERY)                                   \
    }
/* What changes something; the body may be absent. */
#define CHANGES(METHOD, PATTERN, SCOPE, HANDLE, BODY, BYTES)                   \
    {                                                                          \
        .method = (METHOD), .pattern = (PATTERN), .scope = (SCOPE),            \
        .handle = (HANDLE), .body = (BODY), .max_body = (BYTES)                \
    }
#define ACTS(METHOD, PATTERN, HANDLE, BODY, BYTES)                             \
    CHANGES(METHOD, PATTERN, SCOPE_OPERATE, HANDLE, BODY, BYTES)
/* What only the keys of an administrator do. */
#define MAKES(PATTERN, HANDLE, BODY)                                           \
    CHANGES(HTTP_METHOD_POST, PATTERN, SCOPE_ADMIN, HANDLE, BODY, SMALL_BYTES)
#define REMOVES(PATTERN, HANDLE)                                               \
    CHANGES(HTTP_METHOD_DELETE, PATTERN, SCOPE_ADMIN, HANDLE, ROUTE_NO_BODY, 0)
#define POSTS(PATTERN, HANDLE)                                                 \
    ACTS(HTTP_METHOD_POST, PATTERN, HANDLE, ROUTE_JSON, SMALL_BYTES)

static const struct api_route routes[] = {
    READS("/v1/overview", SCOPE_OPERATE, overview_show, of_overview),
    READS("/v1/queues", SCOPE_OPERATE, queues_list, NULL),
    READS("/v1/queues/{name}", SCOPE_OPERATE, queues_show, NULL),
    ACTS(HTTP_METHOD_PATCH, "/v1/queues/{name}", queues_set, ROUTE_JSON_NEEDED,
         SMALL_BYTES),
    READS("/v1/queues/{name}/figures", SCOPE_OPERATE, queues_figures,
          of_figures),
    POSTS("/v1/queues/{name}/pause", queues_pause),
    POSTS("/v1/queues/{name}/resume", queues_resume),
    POSTS("/v1/queues/{name}/purge", queues_purge),
    READS("/v1/tenants", SCOPE_OPERATE, queues_tenants, of_queue),
    READS("/v1/scale", SCOPE_READ, queues_scale, of_queue),

    READS("/v1/workers", SCOPE_OPERATE, fleet_workers, NULL),
    POSTS("/v1/workers/{name}/drain", fleet_drain),
    READS("/v1/endpoints", SCOPE_OPERATE, fleet_endpoints, NULL),
    READS("/v1/sessions", SCOPE_READ, fleet_sessions, NULL),
    READS("/v1/sessions/{name}", SCOPE_READ, fleet_session, NULL),

    READS("/v1/dead", SCOPE_OPERATE, dead_list, of_dead),
    READS("/v1/dead/{id}", SCOPE_OPERATE, dead_show, NULL),
    ACTS(HTTP_METHOD_DELETE, "/v1/dead/{id}", dead_remove, ROUTE_NO_BODY, 0),
    POSTS("/v1/dead/{id}/requeue", dead_requeue),

    READS("/v1/schedules", SCOPE_OPERATE, schedules_list, NULL),
    ACTS(HTTP_METHOD_PUT, "/v1/schedules/{name}", schedules_set,
         ROUTE_JSON_NEEDED, SCHEDULE_BYTES),
    ACTS(HTTP_METHOD_DELETE, "/v1/schedules/{name}", schedules_remove,
         ROUTE_NO_BODY, 0),
    POSTS("/v1/schedules/{name}/pause", schedules_pause),
    POSTS("/v1/schedules/{name}/resume", schedules_resume),
    POSTS("/v1/schedules/{name}/run", schedules_run),

    READS("/v1/keys", SCOPE_ADMIN, keys_list, of_keys),
    MAKES("/v1/keys", keys_add, ROUTE_JSON_NEEDED),
    MAKES("/v1/keys/{id}/rotate", keys_rotate, ROUTE_JSON),
    REMOVES("/v1/keys/{id}", keys_remove),

    READS("/v1/hooks", SCOPE_ADMIN, hooks_list, NULL),
    MAKES("/v1/hooks", hooks_add, ROUTE_JSON_NEEDED),
    MAKES("/v1/hooks/{id}/rotate", hooks_rotate, ROUTE_JSON),
    MAKES("/v1/hooks/{id}/enable", hooks_enable, ROUTE_JSON),
    MAKES("/v1/hooks/{id}/test", hooks_test, ROUTE_JSON),
    REMOVES("/v1/hooks/{id}", hooks_remove),
};

const struct route_table operate_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
    "operate",
};
