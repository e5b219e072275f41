/* reply.c - what an error reply means to a queue. */
#include <string.h>

#include "schemas/redis/conn.h"

struct meaning {
    const char *starts;
    enum err_kind kind;
    const char *code;
    bool ours; /* the first word says it to programs; people get the rest */
};

static const struct meaning meanings[] = {
    { "STALE ", ERR_REJECT, "stale", true },
    { "GONE ", ERR_REJECT, "unknown_job", true },
    { "QUEUEFULL ", ERR_RETRY, "queue_full", true },
    { "TOOBIG ", ERR_REJECT, "too_large", true },
    { "NOBLOB ", ERR_REJECT, "missing_blob", true },
    { "BADARG ", ERR_REJECT, "bad_argument", true },
    { "MISPLACED ", ERR_REJECT, "misplaced", true },
    { "NOAUTH ", ERR_REJECT, "redis_refused", false },
    { "WRONGPASS ", ERR_REJECT, "redis_refused", false },
    { "NOPERM ", ERR_REJECT, "redis_refused", false },
    { "WRONGTYPE ", ERR_REJECT, "redis_refused", false },
    /* A function calls what its caller may not: Redis 7.0, later, Valkey. */
    { "ERR The user executing the script", ERR_REJECT, "redis_refused", false },
    { "ERR ACL failure in script", ERR_REJECT, "redis_refused", false },
    { "DENIED ", ERR_REJECT, "redis_refused", false }, /* protected mode */
    { "ERR AUTH ", ERR_REJECT, "redis_refused", false },
    { "ERR invalid password", ERR_REJECT, "redis_refused", false },
    { "ERR DB index ", ERR_REJECT, "redis_refused", false },
    /* FCALL came with Redis 7.0. */
    { "ERR unknown command", ERR_REJECT, "redis_refused", false },
    { "ERR Unknown Redis command called", ERR_REJECT, "redis_refused", false },
    /* Raised by a function of the library: it would be raised again. */
    { "ERR user_function:", ERR_REJECT, "internal", false },
    { "", ERR_RETRY, "redis_unavailable", false },
};

bool reply_ok(const redisReply *reply, struct err *err)
{
    if (!reply)
        return err_set(err, ERR_RETRY, "redis_unavailable", "no reply");
    if (reply->type != REDIS_REPLY_ERROR)
        return true;

    struct view text = { reply->str, reply->len };
    const struct meaning *meaning = meanings;
    while (!view_starts(text, meaning->starts))
        meaning++;
    if (meaning->ours) {
        size_t word = strlen(meaning->starts);
        text.data += word;
        text.len -= word;
    }
    return err_set(err, meaning->kind, meaning->code, "%.*s", VIEW_ARG(text));
}
