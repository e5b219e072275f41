/* native.h - quern's own routes: /v1/jobs, /v1/links, /v1/exec, /v1/blobs,
 * /livez and /readyz.
 *
 *   POST   /v1/jobs                     submit
 *   GET    /v1/jobs                     list
 *   GET    /v1/jobs/{id}                facts, and the result of one that ended
 *   DELETE /v1/jobs/{id}                remove one that has ended
 *   GET    /v1/jobs/{id}/explain        why it is where it is
 *   GET    /v1/jobs/{id}/replay         whether it would go the same way today
 *   POST   /v1/jobs/{id}/cancel         cancel, approve or run again
 *                       /approve
 *                       /retry
 *   GET    /v1/jobs/{id}/events         follow (server-sent events)
 *   GET    /v1/jobs/{id}/files/{name}   read what a job has made
 *                       /images/{name}
 *   GET    /v1/links/{token}            the same, for whoever has the link
 *   POST   /v1/exec                     run code, and wait
 *   POST   /v1/blobs                    write bytes for a job to come
 */
#ifndef PRODUCER_GATEWAY_NATIVE_H
#define PRODUCER_GATEWAY_NATIVE_H

#include "producer/gateway/gateway.h"
#include "producer/gateway/route.h"

/* native.c */
extern const struct route_table native_routes;

/* -------- submit.c */
void submit_job(struct api_request *request);

/* -------- list.c */
void list_jobs(struct api_request *request);

/* -------- jobs.c */
void jobs_show(struct api_request *request);
void jobs_body(struct api_request *request);
void jobs_cancel(struct api_request *request);
void jobs_approve(struct api_request *request);
void jobs_retry(struct api_request *request);
void jobs_remove(struct api_request *request);

/* -------- events.c */
void events_follow(struct api_request *request);

/* -------- explain.c */
void explain_job(struct api_request *request);

/* -------- replay.c */
void replay_job(struct api_request *request);

/* -------- exec.c */
void exec_run(struct api_request *request);

/* -------- blobs.c */
void blobs_write(struct api_request *request);

/* -------- files.c */
void files_read(struct api_request *request);
void images_read(struct api_request *request);

/* -------- links.c */
void links_read(struct api_request *request);

/* -------- health.c */
void health_live(struct api_request *request);
void health_ready(struct api_request *request);
/* Whether it can serve; else why not, as a sentence. */
bool health_is_ready(const struct gateway *gateway, struct err *why);

#endif
