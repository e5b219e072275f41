/* exchange.h - one request to the practice model and its answer.
 *
 *   BODY --> [DELAY] --> ANSWER, piece by piece, [pausing] between them
 *
 * A pause suspends the connection and costs a timer, no thread: ten thousand
 * slow answers at once are fine. */
#ifndef PRACTICE_EXCHANGE_H
#define PRACTICE_EXCHANGE_H

#include "plan.h"
#include "server.h"
#include "speech.h"

struct exchange {
    struct server *server;
    struct MHD_Connection *connection;
    char *body; /* of the request, as it comes */
    size_t len;
    const struct speech *speech;
    json_t *request; /* as it came, */
    json_t *heard;   /* and as scripts and rules know it */
    json_t *reply;
    struct plan plan;
    struct kept *kept; /* its reply, where it is; NULL: it is not */
    bool planned;
    bool delayed; /* the wait before the answer is over, or begun */
    bool paused;  /* the wait before piece number `paused_at` was made */
    size_t piece; /* being sent */
    size_t paused_at;
    uv_timer_t *timer;           /* runs while the connection is suspended, */
    LIST_ENTRY(exchange) others; /* and this leads to the others that wait */
};

struct exchange *exchange_new(struct server *server,
                              struct MHD_Connection *connection);
void exchange_free(struct exchange *exchange);

bool exchange_feed(struct exchange *exchange, const char *data, size_t len);

/* It shows the key, where one is wanted. */
bool exchange_is_authorized(const struct exchange *exchange);

/* Ends the wait. */
void exchange_resume(struct exchange *exchange);

/* The whole of a POST to where a speech is spoken, called again after a delay.
 */
enum MHD_Result exchange_complete(struct exchange *exchange);

#endif
