/* reply.h - what an error reply means: whether another connection or server may
 * cure it, and whether a job may try again. */
#ifndef SCHEMAS_REDIS_REPLY_H
#define SCHEMAS_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "schemas/message/err.h"

/* Returns false and fills err when the reply is an error, or NULL. Errors that
 * come again with the same command (NOAUTH, WRONGPASS, NOPERM, WRONGTYPE, most
 * refusals of transition.h) are ERR_REJECT, all others ERR_RETRY. */
bool reply_ok(const redisReply *reply, struct err *err);

/* An array of at least so many elements, each of which is a text: only of a
 * text may str be read. */
bool reply_is_texts(const redisReply *reply, size_t least);

/* Of an integer, or of a text in digits; else 0. */
uint64_t reply_number(const redisReply *reply);

/* What helps against an error reply. link and conn deal with the first two
 * themselves: for their owners such a reply is a lost connection. */
enum reply_cure {
    CURE_FOLLOW, /* MOVED: to the node that it names */
    CURE_RENEW,  /* a new connection: the server is not what it was */
    CURE_LOAD,   /* the function library */
    CURE_GROUP,  /* the consumer group */
    CURE_WAIT,   /* the same command again, in a while */
    CURE_NONE,   /* it is no error, or would be answered so again */
};
enum reply_cure reply_cure(const redisReply *reply);

/* Whether it is an error that says that nothing of the command was done. */
bool reply_is_refusal(const redisReply *reply);

#endif
