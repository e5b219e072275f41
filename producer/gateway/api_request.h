/* api_request.h - one request, from its route to its answer.
 *
 *   on_request --> route --> access --> body --> the route's handler
 *                    |         |          |            |
 *                    '---------+----------+------------'--> one answer
 *
 * The handler answers once, at once or later, when Redis (api_request_call())
 * or a thread has: by one of the functions below, or by
 * api_request_stream(). When the peer goes away first, no callback of the
 * handler comes any more, but for state_free. The request is freed after its
 * answer, when nothing holds it. */
#ifndef PRODUCER_GATEWAY_API_REQUEST_H
#define PRODUCER_GATEWAY_API_REQUEST_H

#include <jansson.h>

#include "producer/client/quern.h"
#include "producer/gateway/access.h"
#include "producer/gateway/gateway.h"
#include "producer/gateway/http/http_request.h"
#include "producer/gateway/route.h"
#include "schemas/redis/link.h"

enum { API_REQUEST_ID_BYTES = 24, API_MOST_HEADERS = 24 };

struct api_request {
    char id[API_REQUEST_ID_BYTES]; /* of the answer: x-request-id */
    struct gateway *gateway;
    struct http_exchange *exchange; /* NULL: answered, or the peer has gone */
    const struct api_route *route;
    const char *kind;  /* the name of the table that has the route */
    uint64_t begun_ns; /* by uv_hrtime() */
    struct view params[ROUTE_MAX_PARAMS]; /* until the answer */
    struct access_caller caller;
    struct access_rate rate; /* of the key; every answer says it */
    bool key_job_is_new;     /* of key_use.h: the request has added a job */
    struct view body;        /* JSON: whole, until the answer; or empty */
    unsigned int holds;      /* who still needs the struct */
    /* Of the handler. state_free comes once, before the request is freed. */
    void *state;
    void (*state_free)(void *state);
    /* Of native/api_job.h: what waits for the facts of a job. */
    void (*found)(struct api_request *request, const redisReply *facts);
    /* Of link_secret.h: what waits for the secret. */
    void (*signing)(struct api_request *request);
    struct blob_writer *blob;    /* of blob_writer.h: what is being written */
    struct form_body *form;      /* of form_body.h: what is being read */
    struct container *container; /* of openai/container.h */
    struct container_put *put;   /* of openai/container_put.h */
    struct conversation_log *conversation; /* of openai/conversation_log.h */
    /* Of api_request_receive(). */
    void (*on_piece)(struct api_request *request, struct view piece);
    void (*on_whole)(struct api_request *request);
};

/* For http_server_new(); owner: the gateway. */
void api_request_begin(void *gateway, struct http_exchange *exchange);

/* ------------------------------------------------------------ what it says */

/* The value of a name of the query; "" when it is not there. Also a name that
 * is there without a value has "". */
struct view api_request_query(const struct api_request *request,
                              const char *name);
/* A number of the query, otherwise where it is absent. False: it was refused,
 * and the request is answered. */
bool api_request_number(struct api_request *request, const char *name,
                        uint64_t otherwise, uint64_t max, uint64_t *number);
/* A time of the query, as settings are written (30s); in ms. */
bool api_request_time(struct api_request *request, const char *name,
                      uint64_t otherwise, uint64_t max_ms, uint64_t *ms);
/* The body as a JSON object, a new reference; of no body an empty one. NULL: it
 * was refused, and the request is answered. */
json_t *api_request_object(struct api_request *request);
/* The header Idempotency-Key, to be freed; NULL: it is not there. False: it was
 * refused, and the request is answered. */
bool api_request_key(struct api_request *request, char **key);
/* Whether a job of that partition's tenants may be seen by the caller: it is
 * the key's tenant's, or the key may operate. */
bool api_request_may_see(const struct api_request *request, struct view tenant);

/* The body of ROUTE_BYTES and ROUTE_FORM, in pieces, from the loop. */
void api_request_receive(struct api_request *request,
                         void (*on_piece)(struct api_request *request,
                                          struct view piece),
                         void (*on_whole)(struct api_request *request));

/* --------------------------------------------------------------- the answer */

/* Takes the reference. */
void api_request_json(struct api_request *request, unsigned int status,
                      json_t *json);
void api_request_answer(struct api_request *request, unsigned int status,
                        const struct http_pair *headers, unsigned int count,
                        struct view body);
/* An error, with the status that belongs to its code and kind. When its
 * sentence begins with a path ("files[2].blob: ..."), that is the param. */
void api_request_refuse(struct api_request *request, const struct err *err);
/* The same of an error of libquern. */
void api_request_refuse_error(struct api_request *request,
                              const struct quern_error *error);
/* The same with a status of its own. after_ms: of Retry-After; 0: none. */
void api_request_refuse_as(struct api_request *request, unsigned int status,
                           const struct err *err, uint64_t after_ms);
/* A query, header or member of the body is wrong: 400. */
void api_request_wrong(struct api_request *request, const char *param,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 404; the words are the same for what another tenant has. */
void api_request_unknown(struct api_request *request, const char *what,
                         struct view id);
/* As http_stream_begin(). */
struct http_stream *api_request_stream(struct api_request *request,
                                       unsigned int status,
                                       const struct http_pair *headers,
                                       unsigned int count, int64_t length,
                                       const struct http_stream_events *heard,
                                       void *owner);

/* --------------------------------------------------------------- its calls */

/* reply: borrowed, no error. Not called when Redis refused or was away: then
 * the request was answered. */
typedef void api_request_reply(struct api_request *request,
                               const redisReply *reply);
/* Sends a command to a partition, or to the fleet's slot (FLEET_SLOT), and
 * copies it. False: the request is answered already. */
bool api_request_call(struct api_request *request, unsigned int partition,
                      const struct command *command, api_request_reply *done);
/* Calls run in a thread, with request->state and a handle of libquern; it may
 * block, and touches nothing but these two. Then done, on the loop. state is
 * freed after both, also when the peer has gone meanwhile (done is not called
 * then). When too much waits already, the request is answered. */
void api_request_work(struct api_request *request,
                      void (*run)(void *state, struct quern *quern),
                      void (*done)(struct api_request *request));
/* The struct stays until as many drops; request->exchange says whether there is
 * still somebody to answer. For who calls Redis by other means than these. */
void api_request_hold(struct api_request *request);
void api_request_drop(struct api_request *request);
/* The partition of the caller's tenant. False: the number of partitions is not
 * known yet, and the request is answered. */
bool api_request_partition(struct api_request *request, struct view tenant,
                           unsigned int *partition);

#endif
