/* conversation_log.h - a conversation of the Responses API: a list of turns, to
 * which one job at a time adds.
 *
 * The hash conversation:<uuid> has tenant, created_at and metadata, and a field
 * for each turn, from 1 on: the id of the job that takes it, or the SHA-256 of
 * a blob with all messages, when items were added or removed over HTTP. When
 * some were removed, ":" and their places follow, with "," between: so the
 * others keep their ids; when none is left, there is no SHA-256. A turn is
 * taken by HSETNX: of two that want the same turn one gets it. Nothing is taken
 * back, so no gateway has to finish what another one has begun:
 *
 *   find --> head: the last turn that has left a conversation; busy: its job
 * has not ended --> take the next turn, with a job or a blob
 *
 * The hash lives as long as a response, from its last turn on. */
#ifndef PRODUCER_GATEWAY_CONVERSATION_LOG_H
#define PRODUCER_GATEWAY_CONVERSATION_LOG_H

#include <jansson.h>

#include "producer/gateway/api_request.h"

enum {
    CONVERSATION_ID_BYTES = 38, /* "conv_", 32 digits, NUL */
    CONVERSATION_MOST_TURNS = 10000,
    CONVERSATION_VALUE_BYTES = 96, /* of a turn, with a NUL */
};

struct conversation_log {
    char uuid[37]; /* "": none was found */
    unsigned int partition;
    uint64_t created_at; /* s */
    json_t *metadata;    /* owned; NULL: no conversation was found */
    json_t *removed;     /* owned; places of items that were removed, ascending
                          */
    size_t turns;
    char (*values)[CONVERSATION_VALUE_BYTES]; /* of the turns */
    size_t at;                                /* turns that are still to be
                                                 looked at, for the head */
    char blob[65];      /* the head: all messages of the turns that have
                           ended; "": there are none */
    char container[65]; /* the session of the head's job; "": it had none */
    bool has_begun;     /* the job of the turn that is looked at */
    bool busy;          /* the last turn's job has not ended */
    bool is_gone;       /* the head is not kept any more: nobody can go on */
    void (*done)(struct api_request *request);
};

void conversation_log_finish(struct conversation_log *log);
/* Makes an id of the partition. False: err. */
bool conversation_log_new(struct conversation_log *log, unsigned int partition,
                          struct err *err);
void conversation_log_id(char id[CONVERSATION_ID_BYTES],
                         const struct conversation_log *log);

/* The conversation of that id, of the caller's tenant. log stays with the
 * request's state: request->conversation; done when metadata tells whether
 * there is one. */
void conversation_log_find(struct api_request *request,
                           struct conversation_log *log, struct view id,
                           void (*done)(struct api_request *request));
/* Then its head, and whether it is busy. */
void conversation_log_head(struct api_request *request,
                           void (*done)(struct api_request *request));
/* Takes the next turn; done gets 1, or 0 when another one has it. */
void conversation_log_take(struct api_request *request, struct view value,
                           api_request_reply *done);
/* Gives back a turn that was taken for a job that is not submitted after all.
 * Nobody waits for it. */
void conversation_log_release(struct gateway *gateway,
                              const struct conversation_log *log);
/* After a turn was taken: keeps the conversation for as long as a response,
 * then done. What others write to it meanwhile stays; when they have deleted
 * it, the request is refused. */
void conversation_log_keep(struct api_request *request,
                           void (*done)(struct api_request *request));
/* Writes tenant, times and metadata, of a new one too; then done. */
void conversation_log_write(struct api_request *request,
                            void (*done)(struct api_request *request));

#endif
