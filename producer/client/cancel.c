/* cancel.c - quern_cancel(); quern_decide(): a person's verdict on a call. */
#include "producer/client/fleet.h"
#include "schemas/redis/transition.h"

static bool cancel(struct quern *quern, struct view id, struct view reason,
                   enum cancel_outcome *outcome, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_cancel(&command, &quern->fleet->names, id, reason);
    reply = handle_write_job(quern, id, &command, err);
    command_finish(&command);
    return reply && transition_cancelled(reply, outcome, err);
}

bool quern_cancel(struct quern *quern, const char *id_text, const char *reason,
                  enum quern_cancel_outcome *outcome, struct quern_error *error)
{
    enum cancel_outcome cancelled;
    struct err err = { 0 };
    struct view id;

    if (!handle_id(&id, id_text, &err) ||
        !cancel(quern, id, view_of(reason), &cancelled, &err))
        return handle_fail(error, &err);
    *outcome = (enum quern_cancel_outcome)cancelled;
    return true;
}

static bool approve(struct quern *quern, const struct approval *approval,
                    bool *late, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_approve(&command, &quern->fleet->names, approval);
    reply = handle_write_job(quern, approval->id, &command, err);
    command_finish(&command);
    return reply && transition_approved(reply, late, err);
}

_Static_assert((int)QUERN_VERDICT_APPROVE == (int)VERDICT_APPROVE &&
                   (int)QUERN_VERDICT_ABORT == (int)VERDICT_ABORT,
               "they are the same");

bool quern_decide(struct quern *quern, const char *id_text,
                  const struct quern_decision *decision, bool *late,
                  struct quern_error *error)
{
    struct approval approval = {
        .verdict = (int)decision->verdict,
        .note = view_of(decision->note),
        .call = view_of(decision->call),
        .text = view_of(decision->text),
    };
    struct err err = { 0 };
    bool was_late;

    if (decision->verdict < QUERN_VERDICT_APPROVE ||
        decision->verdict > QUERN_VERDICT_ABORT)
        err_set(&err, ERR_REJECT, "bad_argument", "%d is no verdict",
                (int)decision->verdict);
    if (err.kind != ERR_NONE || !handle_id(&approval.id, id_text, &err) ||
        !approve(quern, &approval, &was_late, &err))
        return handle_fail(error, &err);
    if (late)
        *late = was_late;
    return true;
}

bool quern_approve(struct quern *quern, const char *id_text, bool yes,
                   const char *note, bool *late, struct quern_error *error)
{
    const struct quern_decision decision = {
        .verdict = yes ? QUERN_VERDICT_APPROVE : QUERN_VERDICT_REJECT,
        .note = note,
    };

    return quern_decide(quern, id_text, &decision, late, error);
}
