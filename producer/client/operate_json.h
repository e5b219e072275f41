/* operate_json.h - what operators see, as JSON: the same members from the
 * command line (--json) and from the gateway.
 *
 * Each function returns a new reference. The members are those of the structs
 * in quern_operate.h; the help of the verbs describes them. */
#ifndef PRODUCER_CLIENT_OPERATE_JSON_H
#define PRODUCER_CLIENT_OPERATE_JSON_H

#include <jansson.h>

#include "producer/client/quern_operate.h"

json_t *operate_queue_json(const struct quern_queue *queue);
/* {"<tenant>": {"<setting>": number}} */
json_t *operate_limits_json(const struct quern_tenant_limits *limits);
json_t *operate_tenant_json(const struct quern_tenant *tenant);
json_t *operate_minute_json(const struct quern_minute *minute);
json_t *operate_worker_json(const struct quern_worker *worker);
json_t *operate_endpoint_json(const struct quern_endpoint *endpoint);
json_t *operate_schedule_json(const struct quern_schedule *schedule);
json_t *operate_key_json(const struct quern_key *key);
json_t *operate_hook_json(const struct quern_hook *hook);
json_t *operate_dead_json(const struct quern_dead_job *dead);

json_t *operate_job_json(const struct quern_listed_job *job);
json_t *operate_explanation_json(const struct quern_explanation *job);
/* A job's bytes as they came in; null when they are no message. */
json_t *operate_body_json(const void *bytes, size_t size);
/* A result; null when there is none. */
json_t *operate_result_json(const struct quern_status *status);
json_t *operate_status_json(const char *id, const struct quern_status *status);

#endif
