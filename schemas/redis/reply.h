/* reply.h - what an error reply means, to a connection and to a queue. */
#ifndef SCHEMAS_REDIS_REPLY_H
#define SCHEMAS_REDIS_REPLY_H

#include <hiredis/hiredis.h>

#include "schemas/message/err.h"

/* Returns false and fills err when the reply is an error. NOAUTH, WRONGPASS,
 * NOPERM, WRONGTYPE and our own refusals (schemas/redis/transition.h) reject,
 * all else may pass. */
bool reply_ok(const redisReply *reply, struct err *err);

/* What helps against it. link and conn see to the first two themselves: to
 * their owners such a reply is a lost connection. */
enum reply_cure {
    CURE_FOLLOW, /* MOVED: to the node that it names */
    CURE_RENEW,  /* a new connection: the server is not what it was */
    CURE_LOAD,   /* the function library */
    CURE_GROUP,  /* the consumer group */
    CURE_WAIT,   /* the same command again, in a while */
    CURE_NONE,   /* it is no error, or would be answered so again */
};
enum reply_cure reply_cure(const redisReply *reply);

/* An error that says: nothing of the command was done. */
bool reply_is_refusal(const redisReply *reply);

#endif
