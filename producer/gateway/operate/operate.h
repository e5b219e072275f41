/* operate.h - the routes of operators: what `quern queue`, `worker`, `dead`,
 * `schedule`, `tenant`, `endpoint`, `session`, `key` and `hook` do, over HTTP.
 *
 *   GET    /v1/overview                 what the fleet does, and did
 *   GET    /v1/queues                   all queues, with their counts
 *   GET    /v1/queues/{name}            one, with the limits of its tenants
 *   PATCH  /v1/queues/{name}            set its settings; "" removes one
 *   GET    /v1/queues/{name}/figures    what it did, by minute
 *   POST   /v1/queues/{name}/pause      start none of its jobs; again
 *                           /resume
 *                           /purge      cancel some hundred jobs that wait
 *   GET    /v1/tenants                  who has jobs, limits and budgets
 *   GET    /v1/workers                  the consumers
 *   POST   /v1/workers/{name}/drain     let one leave; or not
 *   GET    /v1/endpoints                the models' endpoints
 *   GET    /v1/dead                     jobs that failed for good
 *   GET    /v1/dead/{id}                one, with its body and result
 *   DELETE /v1/dead/{id}                remove all that is kept of one
 *   POST   /v1/dead/{id}/requeue        run one again
 *   GET    /v1/schedules                the schedules
 *   PUT    /v1/schedules/{name}         add one, or replace it
 *   DELETE /v1/schedules/{name}         remove one
 *   POST   /v1/schedules/{name}/pause   submit nothing; again; a job now
 *                              /resume
 *                              /run
 *   GET    /v1/keys                     all keys, or those of a tenant
 *   POST   /v1/keys                     make one; the answer has it, once
 *   POST   /v1/keys/{id}/rotate         make another one in its place
 *   DELETE /v1/keys/{id}                remove one
 *   GET    /v1/hooks                    the tenant's webhooks
 *   POST   /v1/hooks                    add one; the answer has its secret
 *   POST   /v1/hooks/{id}/rotate        another secret; the old one ends
 *                        /enable        use it again
 *                        /test          send it a request
 *   DELETE /v1/hooks/{id}               remove one
 *   GET    /v1/scale                    how many slots would have work, for
 * autoscalers GET    /v1/sessions                 the tenant's sessions GET
 * /v1/sessions/{name}          one
 *
 * All of them run libquern in a thread (call.h). The members are those of
 * `quern --json`: producer/client/operate_json.h. */
#ifndef PRODUCER_GATEWAY_OPERATE_H
#define PRODUCER_GATEWAY_OPERATE_H

#include "producer/gateway/route.h"

/* operate.c */
extern const struct route_table operate_routes;

/* -------- queues.c */
void queues_list(struct api_request *request);
void queues_show(struct api_request *request);
void queues_set(struct api_request *request);
void queues_figures(struct api_request *request);
void queues_pause(struct api_request *request);
void queues_resume(struct api_request *request);
void queues_purge(struct api_request *request);
void queues_scale(struct api_request *request);
void queues_tenants(struct api_request *request);

/* -------- overview.c */
void overview_show(struct api_request *request);

/* -------- fleet.c */
void fleet_workers(struct api_request *request);
void fleet_drain(struct api_request *request);
void fleet_endpoints(struct api_request *request);
void fleet_sessions(struct api_request *request);
void fleet_session(struct api_request *request);

/* -------- dead.c */
void dead_list(struct api_request *request);
void dead_show(struct api_request *request);
void dead_remove(struct api_request *request);
void dead_requeue(struct api_request *request);

/* -------- schedules.c */
void schedules_list(struct api_request *request);
void schedules_set(struct api_request *request);
void schedules_remove(struct api_request *request);
void schedules_pause(struct api_request *request);
void schedules_resume(struct api_request *request);
void schedules_run(struct api_request *request);

/* -------- keys.c */
void keys_list(struct api_request *request);
void keys_add(struct api_request *request);
void keys_rotate(struct api_request *request);
void keys_remove(struct api_request *request);

/* -------- hooks.c */
void hooks_list(struct api_request *request);
void hooks_add(struct api_request *request);
void hooks_rotate(struct api_request *request);
void hooks_enable(struct api_request *request);
void hooks_test(struct api_request *request);
void hooks_remove(struct api_request *request);

#endif
