/* creation.h - POST /v1/responses while it is on its way, for the files of it.
 *
 *   create.c               a repeat is the job of its first time
 *   creation_references.c  items that the input names are put into it
 *   create.c               reads the request; files in it become blobs
 *   creation_earlier.c     the conversation that it goes on from
 *   creation_submit.c      what is asked is kept, the job is submitted, answer
 *
 * What is asked is kept by the step that makes the job, so that no job is
 * without it. */
#ifndef PRODUCER_GATEWAY_CREATION_H
#define PRODUCER_GATEWAY_CREATION_H

#include "producer/client/draft.h"
#include "producer/gateway/blob_writer.h"
#include "producer/gateway/chat/chat_request.h"
#include "producer/gateway/openai/container.h"
#include "producer/gateway/openai/conversation_log.h"
#include "producer/gateway/openai/model_list.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/response_request.h"

/* The state of the request until the job stands. kept_response first, for
 * openai_show(). */
struct creation {
    struct kept_response kept;
    struct gateway *gateway;
    bool is_chat;             /* a chat completion */
    struct chat_request chat; /* of it; else zeros */
    struct response_request asked;
    struct draft draft;
    struct buf asked_text;   /* what is kept with the job; borrowed by draft */
    char container[65];      /* the one that the chain has used; "": none */
    struct container record; /* of the one that is used */
    char previous[37];       /* the job of the response before; "": none */
    char conversation[65];   /* the blob of its conversation; "": none */
    struct conversation_log log; /* of the conversation that it adds to */
    bool has_turn;               /* and the turn is taken */
    bool fresh, existed;
    bool may_run;            /* the job stands, or may, and is nobody's yet */
    bool took_turn, is_sent; /* of the conversation; the submit, after that */
    struct quern_id id;
    struct repeat repeat;
    char *key;       /* of the header Idempotency-Key; owned; NULL: none */
    char sha256[65]; /* of the body, with a key; else "" */
    struct quern_id repeated; /* the id that its first time has made; "": this
                                 is the first time */
    struct err refused;       /* why the job could not be submitted */
    json_t *body;             /* owned, until the request is read */
    json_t *references;       /* of the input, which are left to put in */
    struct kept_response referred; /* whose item the first of them is */
    char referred_job[37];
    size_t referred_bytes; /* of the items that were put in */
    size_t attachment;     /* the one that is being added */
    struct blob_writer file;
    struct model_look models; /* of a name that the list does not have */
    unsigned int partition;
};

/* -------- create.c */

/* A new one: is_chat: the body is a chat's. */
void creation_begin(struct api_request *request, bool is_chat);

/* Asks for one key of the tenant's partition. */
void creation_ask(struct api_request *request, const char *verb,
                  const struct key *key, api_request_reply *done);
/* Asks for what creation_owns() needs: the job is there, and the caller's. */
void creation_ask_facts(struct api_request *request, struct view job,
                        api_request_reply *done);
bool creation_owns(const struct api_request *request, const redisReply *facts);
/* Reads the body, in which no reference is left, and goes on. */
void creation_read(struct api_request *request);

/* -------- creation_references.c: puts the items that the input refers to in
 * their places, and then to creation_read(). */
void creation_refer(struct api_request *request);

/* -------- creation_earlier.c: goes on from the response or the conversation
 * that the request names, if any, and then to creation_submit(). */
void creation_go_on(struct api_request *request);
/* A job adds to the conversation just now: when the request's Idempotency-Key
 * names it, it is the answer; else the request is refused. */
void creation_answer_locked(struct api_request *request);

/* -------- creation_submit.c */
void creation_submit(struct api_request *request);
/* Answers with the job creation->id, which an earlier try has made. */
void creation_answer_standing(struct api_request *request);

#endif
