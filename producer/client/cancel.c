/* cancel.c - stopping a job. */
#include "producer/client/handle.h"
#include "schemas/redis/transition.h"

static bool cancel(struct quern *quern, struct view id, struct view reason,
                   enum cancelled *outcome, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_cancel(&command, &quern->fleet->names, id, reason);
    reply = handle_call_job(quern, id, &command, err);
    command_finish(&command);
    return reply && transition_cancelled(reply, outcome, err);
}

bool quern_cancel(struct quern *quern, const char *id_text, const char *reason,
                  enum quern_cancelled *outcome, struct quern_error *error)
{
    enum cancelled cancelled;
    struct err err = { 0 };
    struct view id;

    if (!handle_id(&id, id_text, &err) ||
        !cancel(quern, id, view_of(reason), &cancelled, &err))
        return handle_fail(error, &err);
    *outcome = (enum quern_cancelled)cancelled;
    return true;
}
