/* openai.h - the routes of OpenAI's Responses API.
 *
 *   POST   /v1/responses              a job, and its response: whole, streamed,
 *                                     or in the background
 *   GET    /v1/responses/{id}         the response; with ?stream=true its
 * events DELETE /v1/responses/{id}         forget it POST
 * /v1/responses/{id}/cancel  stop it
 *
 * A response is a job: its id is "resp_" and the digits of the job's. What the
 * client asked (the members that the response object repeats) is in the key
 * asked:<id> beside the job's, for --response-ttl. responses/ translates. */
#ifndef PRODUCER_GATEWAY_OPENAI_H
#define PRODUCER_GATEWAY_OPENAI_H

#include "producer/gateway/api_request.h"
#include "producer/gateway/responses/response_object.h"

/* openai.c */
extern const struct route_table openai_routes;

/* What is known of one response: of a request, or of a stream behind it. */
struct kept_response {
    struct gateway *gateway;
    char job[37];
    json_t *asked;        /* what was asked, and what follows; owned */
    struct wire_job wire; /* points into this struct and asked */
    /* Of the job, once it was looked at. */
    int state; /* enum job_state */
    uint64_t finished_at;
    char error_code[64];
};

/* -------- kept_response.c */

/* asked: what the key asked:<id> has; taken. */
void kept_response_init(struct kept_response *kept, struct gateway *gateway,
                        struct view job, json_t *asked);
void kept_response_finish(struct kept_response *kept);
/* To look at the job: asks for its facts, and takes the reply; asks for its
 * result. */
void kept_response_ask(const struct kept_response *kept,
                       struct command *command);
void kept_response_take(struct kept_response *kept, const redisReply *facts);
void kept_response_ask_result(const struct kept_response *kept,
                              struct command *command);
unsigned int kept_response_partition(const struct kept_response *kept);

/* The error of the API; code and param may be NULL. Ends the request. */
void openai_refuse(struct api_request *request, unsigned int status,
                   const char *code, const char *param, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Loads the response that the path names, of the caller's tenant, and calls
 * found with the facts of its job; request->state is then a kept_response. Else
 * the request is answered. */
void openai_load(struct api_request *request, api_request_reply *found);
/* Answers with the response object as it is now. request->state: the
 * kept_response. */
void openai_show(struct api_request *request);

/* -------- response_reader.c */

/* Streams the response as server-sent events, those with a higher number than
 * after; -1: all. Takes kept. foreground: the job is cancelled when the client
 * goes away. */
void response_reader_stream(struct api_request *request,
                            struct kept_response *kept, int64_t after,
                            bool obfuscate, bool foreground);
/* Answers with the object when the job has ended; the job is cancelled when the
 * client goes away before. request->state: the kept_response. */
void response_reader_wait(struct api_request *request);

/* -------- create.c */
void responses_create(struct api_request *request);

#endif
