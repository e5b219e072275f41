/* chat_request.h - POST /v1/chat/completions: its body as one of
 * POST /v1/responses.
 *
 *   body_parse() --> chat_request_read() --> response_request_read()
 *                                        --> chat_request_apply() --> job
 *
 * So both APIs have one reader of contents, files, tools and schemas. A refusal
 * of that reader names members as a request of Responses has them:
 * chat_request_name() gives them the names of the chat.
 *
 * Code may always run, in a container of the request; what the consumer offers
 * beside it stays. */
#ifndef PRODUCER_GATEWAY_CHAT_REQUEST_H
#define PRODUCER_GATEWAY_CHAT_REQUEST_H

#include "producer/gateway/body/body.h"

struct chat_request {
    bool stream;
    bool with_usage;       /* stream_options.include_usage */
    json_t *parameters;    /* of the job, which Responses have not */
    json_int_t max_tokens; /* 0: none is set */
    json_t *places; /* of each item of the input: the index of its message */
    json_t *body;   /* for response_request_read() */
};

/* Finish the request also when it was refused. */
bool chat_request_read(struct chat_request *chat, json_t *body,
                       struct body_error *error);
void chat_request_finish(struct chat_request *chat); /* accepts zeros */

/* What the job has beside what response_request_read() has put there. */
void chat_request_apply(const struct chat_request *chat, json_t *job);

/* param: the way to a member of chat->body; becomes that of the chat. */
void chat_request_name(const struct chat_request *chat, char *param,
                       size_t size);
/* The same of a refusal, also in its sentence. */
void chat_request_name_error(const struct chat_request *chat,
                             struct body_error *error);

#endif
