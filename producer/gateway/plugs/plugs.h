/* plugs.h - routes in the form of other programs' code runners, so that these
 * programs can have their code run here.
 *
 *   POST /v1/sandbox/run           Dify's sandbox
 *   GET  /v1/sandbox/dependencies
 *   GET  /health
 *
 * LibreChat's code API, each path behind /v1/librechat:
 *
 *   POST   /exec
 *   POST   /exec/programmatic                   refused
 *   POST   /upload, /upload/batch
 *   GET    /files/{session}
 *   DELETE /files/{session}/{file}
 *   GET    /download/{session}/{file}
 *   GET    /sessions/{session}/objects/{file}
 *   GET    /health
 */
#ifndef PRODUCER_GATEWAY_PLUGS_PLUGS_H
#define PRODUCER_GATEWAY_PLUGS_PLUGS_H

#include "producer/gateway/route.h"

/* plugs.c */
extern const struct route_table plugs_routes;

/* -------- dify.c */
void dify_run(struct api_request *request);
void dify_dependencies(struct api_request *request);
void dify_health(struct api_request *request);

/* -------- librechat_exec.c */
void librechat_exec(struct api_request *request);
void librechat_programmatic(struct api_request *request);

/* -------- librechat_upload.c */
void librechat_upload(struct api_request *request);
void librechat_upload_batch(struct api_request *request);

/* -------- librechat_files.c */
void librechat_files_list(struct api_request *request);
void librechat_files_show(struct api_request *request);
void librechat_files_download(struct api_request *request);
void librechat_files_delete(struct api_request *request);
void librechat_health(struct api_request *request);

#endif
