/* cancel.c - stopping a job, and letting one go on. */
#include "producer/client/fleet.h"
#include "schemas/redis/transition.h"

static bool cancel(struct quern *quern, struct view id, struct view reason,
                   enum cancelled *outcome, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_cancel(&command, &quern->fleet->names, id, reason);
    reply = handle_write_job(quern, id, &command, err);
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

static bool approve(struct quern *quern, struct view id, bool yes,
                    struct view note, bool *late, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_approve(&command, &quern->fleet->names, id, yes, note);
    reply = handle_write_job(quern, id, &command, err);
    command_finish(&command);
    return reply && transition_approved(reply, late, err);
}

bool quern_approve(struct quern *quern, const char *id_text, bool yes,
                   const char *note, bool *late, struct quern_error *error)
{
    struct err err = { 0 };
    struct view id;
    bool was_late;

    if (!handle_id(&id, id_text, &err) ||
        !approve(quern, id, yes, view_of(note), &was_late, &err))
        return handle_fail(error, &err);
    if (late)
        *late = was_late;
    return true;
}
