/* reply.c - what an error reply means, to a connection and to a queue.
 *
 * ASK and TRYAGAIN are waited out, not followed. While a slot moves, a node
 * redirects each command whose key it does not have. The key of a function call
 * is its partition's root, which never exists: so the call would go to the new
 * node before the job is there, and find no job. When the slot has moved, MOVED
 * says so.
 *
 * The first row of the table whose text begins the error is the one; the last
 * row takes every error. */
#include "schemas/redis/reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schemas/message/view.h"

struct error_meaning {
    const char *starts;
    enum err_kind kind;
    const char *code;
    enum reply_cure cure;
    bool ours; /* a refusal of the library: the first word is for programs, and
                  is cut off the sentence for people */
};

#define OURS(word, kind, code)                                                 \
    {                                                                          \
        word, kind, code, CURE_NONE, true                                      \
    }
#define REFUSED(starts)                                                        \
    {                                                                          \
        starts, ERR_REJECT, "redis_refused", CURE_NONE, false                  \
    }
#define PASSES(starts, cure)                                                   \
    {                                                                          \
        starts, ERR_RETRY, "redis_unavailable", cure, false                    \
    }
#define FULL(starts)                                                           \
    {                                                                          \
        starts, ERR_RETRY, "redis_full", CURE_WAIT, false                      \
    }
#define BUG(starts)                                                            \
    {                                                                          \
        starts, ERR_REJECT, "internal", CURE_NONE, false                       \
    }

static const struct error_meaning meanings[] = {
    OURS("STALE ", ERR_REJECT, "stale"),
    OURS("GONE ", ERR_REJECT, "unknown_job"),
    OURS("QUEUEFULL ", ERR_RETRY, "queue_full"),
    OURS("TOOBIG ", ERR_REJECT, "too_large"),
    OURS("NOBLOB ", ERR_REJECT, "missing_blob"),
    OURS("BADARG ", ERR_REJECT, "bad_argument"),
    OURS("MISPLACED ", ERR_REJECT, "misplaced"),

    PASSES("MOVED ", CURE_FOLLOW),

    PASSES("READONLY ", CURE_RENEW), /* it was made a replica */
    PASSES("MASTERDOWN ", CURE_RENEW),
    PASSES("LOADING ", CURE_RENEW),
    PASSES("CLUSTERDOWN ", CURE_RENEW),
    /* 7.0: the stream was deleted under a blocked read. */
    PASSES("UNBLOCKED the stream key", CURE_GROUP),
    PASSES("UNBLOCKED ", CURE_RENEW), /* master -> replica */
    PASSES("ERR WAIT cannot be used with replica", CURE_RENEW),
    PASSES("ERR WAITAOF cannot be used with replica", CURE_RENEW),

    PASSES("NOGROUP ", CURE_GROUP),
    PASSES("ERR Function not found", CURE_LOAD),

    REFUSED("NOAUTH "),
    REFUSED("WRONGPASS "),
    REFUSED("NOPERM "),
    REFUSED("WRONGTYPE "),
    /* A function calls what its caller may not: Redis 7.0, later, Valkey. */
    REFUSED("ERR The user executing the script"),
    REFUSED("ERR ACL failure in script"),
    REFUSED("DENIED "), /* protected mode */
    REFUSED("ERR AUTH "),
    REFUSED("ERR invalid password"),
    REFUSED("ERR DB index "),
    REFUSED("ERR SELECT is not allowed"), /* a cluster has one database */
    REFUSED("ERR This instance has cluster support disabled"),
    /* FCALL came with Redis 7.0. */
    REFUSED("ERR unknown command"),
    REFUSED("ERR Unknown Redis command called"),

    /* Raised by a function of the library: it would be raised again. */
    BUG("ERR user_function:"),
    BUG("CROSSSLOT "),

    /* Until an operator does something: a client says so at once, a consumer
     * waits. */
    FULL("OOM "),
    FULL("MISCONF "),

    /* ASK, TRYAGAIN, BUSY, NOREPLICAS, and what is new. */
    PASSES("", CURE_WAIT),
};

static const struct error_meaning *meaning_of(const redisReply *reply)
{
    struct view text = { reply->str, reply->len };
    const struct error_meaning *meaning = meanings;

    while (!view_starts(text, meaning->starts))
        meaning++;
    return meaning;
}

/* "ERR unknown command 'FCALL', with args ..." names no cause that an operator
 * could act on. Servers differ in the quotes and the case. */
static bool lacks_functions(struct view text)
{
    static const char start[] = "ERR unknown command ";
    const size_t at = sizeof(start) - 1 + 1; /* behind the quote */
    const char *word = text.data + at;

    if (!view_starts(text, start) || text.len < at + strlen("FCALL"))
        return false;
    return strncasecmp(word, "FCALL", strlen("FCALL")) == 0 ||
           strncasecmp(word, "FUNCTION", strlen("FUNCTION")) == 0;
}

bool reply_ok(const redisReply *reply, struct err *err)
{
    if (!reply)
        return err_set(err, ERR_RETRY, "redis_unavailable", "no reply");
    if (reply->type != REDIS_REPLY_ERROR)
        return true;

    const struct error_meaning *meaning = meaning_of(reply);
    size_t skip = meaning->ours ? strlen(meaning->starts) : 0;
    struct view text = { reply->str + skip, reply->len - skip };
    if (lacks_functions(text))
        return err_set(
            err, ERR_REJECT, "redis_refused",
            "this Redis has no functions (FUNCTION LOAD, FCALL), "
            "which quern needs. So it is with Redis before 7.0, "
            "Azure Cache for Redis, OCI Cache with shards, Dragonfly "
            "and Garnet: deploy/REDIS.md");
    return err_set(err, meaning->kind, meaning->code, "%.*s", VIEW_ARG(text));
}

bool reply_is_texts(const redisReply *reply, size_t least)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < least)
        return false;
    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->type != REDIS_REPLY_STRING)
            return false;
    return true;
}

/* When a command inside a function is refused, the error names the script. Then
 * the function may have written before, so nothing can be said. */
bool reply_is_refusal(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && !strstr(reply->str, "script: ");
}

uint64_t reply_number(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        return reply->integer > 0 ? (uint64_t)reply->integer : 0;
    return reply->type == REDIS_REPLY_STRING ? strtoull(reply->str, NULL, 10)
                                             : 0;
}

enum reply_cure reply_cure(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR ? meaning_of(reply)->cure
                                            : CURE_NONE;
}
