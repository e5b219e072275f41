/* openai.h - the routes of OpenAI's APIs.
 *
 *   POST   /v1/responses                   a job, and its response: whole,
 *                                          streamed, or in the background
 *   GET    /v1/responses/{id}              the response; with ?stream=true its
 *                                          events
 *   GET    /v1/responses/{id}/input_items  what it was given
 *   DELETE /v1/responses/{id}              forget it
 *   POST   /v1/responses/{id}/cancel       stop it
 *   POST   /v1/chat/completions            the same as a chat completion
 *   GET    /v1/models                      what consumers have models for
 *   GET    /v1/models/{id}                 one of them
 *   ...    /v1/conversations               conversations to which responses add
 *   ...    /v1/containers                  where the code of responses runs
 *   ...    /v1/files                       files that clients upload
 *
 * A response is a job: its id is "resp_" and the digits of the job's. What the
 * client asked (the members that the response object repeats, and the messages
 * of the job) is in the key asked:<id> beside the job's, for --response-ttl.
 * responses/ translates. */
#ifndef PRODUCER_GATEWAY_OPENAI_H
#define PRODUCER_GATEWAY_OPENAI_H

#include "producer/gateway/api_request.h"
#include "producer/gateway/body/body.h"
#include "producer/gateway/file_link.h"
#include "producer/gateway/openai/repeats.h"
#include "producer/gateway/responses/response_object.h"

/* openai.c */
extern const struct route_table openai_routes;

/* What is known of one response: of a request, or of a stream behind it. */
struct kept_response {
    struct gateway *gateway;
    char job[37];
    char link_base[LINK_BASE_BYTES]; /* of links to its files */
    json_t *asked;            /* what was asked, and what follows; owned */
    struct wire_job wire;     /* points into this struct and asked */
    bool is_chat, chat_usage; /* answered as a chat completion; with usage */
    struct repeat repeat; /* of the request that made it, until its answer */
    /* Of the job, once it was looked at. */
    int state; /* enum job_state */
    uint64_t finished_at;
    char error_code[64];
};

/* -------- answer.c */

/* The error of the API; code and param may be NULL. Ends the request. */
void openai_refuse(struct api_request *request, unsigned int status,
                   const char *code, const char *param, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void openai_refuse_body(struct api_request *request,
                        const struct body_error *error);
/* The page of the items, in ascending order, that the query asks for: limit,
 * order, after. Ends the request. */
void openai_answer_page(struct api_request *request, const json_t *items);

/* -------- kept_response.c */

/* asked: what the key asked:<id> has; taken. The request's links to files are
 * those of kept. */
void kept_response_init(struct kept_response *kept,
                        const struct api_request *request, struct view job,
                        json_t *asked);
/* Whether that is what was asked, and not only its SHA-256, which is kept of a
 * response that is not stored. Accepts NULL. */
bool kept_response_is_stored(const json_t *asked);
/* The same from its text; false: the text is not what was asked. */
bool kept_response_read(struct kept_response *kept,
                        const struct api_request *request, struct view job,
                        struct view text);
void kept_response_finish(struct kept_response *kept);
/* To look at the job: asks for its facts, and takes the reply; asks for its
 * result. */
void kept_response_ask(const struct kept_response *kept,
                       struct command *command);
void kept_response_take(struct kept_response *kept, const redisReply *facts);
void kept_response_ask_result(const struct kept_response *kept,
                              struct command *command);
unsigned int kept_response_partition(const struct kept_response *kept);

/* Loads the response that the path names, of the caller's tenant, and calls
 * found; request->state is then a kept_response. Else the request is answered.
 */
void openai_load(struct api_request *request,
                 void (*found)(struct api_request *request));
/* Answers with the response object as it is now. request->state: the
 * kept_response. */
void openai_show(struct api_request *request);
/* The same of a job that was submitted just now: nothing is asked. */
void openai_show_new(struct api_request *request);

/* -------- chat.c */
void chat_create(struct api_request *request);
/* Answers with the response object as a chat completion, or with the error that
 * the job has. result: NULL: it is not known. request->state: the
 * kept_response. */
void chat_show(struct api_request *request, const json_t *response,
               const struct result *result);

/* -------- models.c */
void models_list(struct api_request *request);
void models_show(struct api_request *request);
/* 404 for a model that no consumer has. Ends the request. */
void openai_refuse_model(struct api_request *request, const char *name);

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

/* -------- conversations.c */
void conversations_create(struct api_request *request);
void conversations_show(struct api_request *request);
void conversations_update(struct api_request *request);
void conversations_delete(struct api_request *request);
void conversations_list_items(struct api_request *request);
void conversations_add_items(struct api_request *request);
void conversations_show_item(struct api_request *request);
void conversations_remove_item(struct api_request *request);

/* -------- containers.c */
void containers_create(struct api_request *request);
void containers_list(struct api_request *request);
void containers_show(struct api_request *request);
void containers_delete(struct api_request *request);

/* -------- container_files.c */
void container_files_create(struct api_request *request);
void container_files_list(struct api_request *request);
void container_files_show(struct api_request *request);
void container_files_content(struct api_request *request);
void container_files_delete(struct api_request *request);

/* -------- input_items.c */

/* What the response was given, as items: a new reference. earlier: messages of
 * the chain before it; NULL: there are none. */
json_t *kept_response_input(const struct kept_response *kept,
                            const json_t *earlier);
void responses_input_items(struct api_request *request);

/* -------- create.c */
void responses_create(struct api_request *request);

/* -------- files.c */
void openai_files_create(struct api_request *request);
void openai_files_list(struct api_request *request);
void openai_files_show(struct api_request *request);
void openai_files_content(struct api_request *request);
void openai_files_delete(struct api_request *request);

#endif
