/* submit.c - quern_submit() and its kin: one job into its queue, once. */
#include <string.h>

#include "producer/client/draft.h"

static bool send_draft(struct quern *quern, const struct draft *draft,
                       struct quern_id *id, bool *existed, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    *id = draft->id;
    draft_command(&command, &quern->fleet->names, draft);
    reply = handle_write_job(quern, view_of(draft->id.text), &command, err);
    command_finish(&command);
    return reply && draft_submitted(reply, draft->fresh, id, existed, err);
}

/* Nothing was sent: there is no id under which the job could be submitted
 * again. The id is cleared only now, since the caller may have passed the same
 * buffer as the job's own id. */
static bool submit_refuse(struct quern_id *id, struct quern_error *error,
                          const struct err *err)
{
    id->text[0] = '\0';
    return handle_fail(error, err);
}

/* No id was made by an earlier try. */
static const struct quern_id none;

bool quern_submit(struct quern *quern, const struct quern_job *job,
                  struct quern_id *id, bool *existed, struct quern_error *error)
{
    CLEANUP(draft_finish) struct draft draft;
    struct err err = { 0 };

    if (!draft_read(&draft, quern, job, &none, &err))
        return submit_refuse(id, error, &err);
    return send_draft(quern, &draft, id, existed, &err) ||
           handle_fail(error, &err);
}

bool quern_submit_json(struct quern *quern, const char *json,
                       const struct quern_submit_options *options,
                       struct quern_id *id, bool *existed,
                       struct quern_error *error)
{
    CLEANUP(draft_finish) struct draft draft;
    struct err err = { 0 };

    bool read = draft_read_json(&draft, quern, json, options, &none, &err);

    if (options && options->note)
        draft_note(&draft, options->note);
    if (!read)
        return submit_refuse(id, error, &err);
    return send_draft(quern, &draft, id, existed, &err) ||
           handle_fail(error, &err);
}

bool quern_submit_bytes(struct quern *quern, const void *job, size_t size,
                        struct quern_id *id, bool *existed,
                        struct quern_error *error)
{
    CLEANUP(draft_finish) struct draft draft;
    struct err err = { 0 };

    if (!draft_read_bytes(&draft, quern, (struct view){ job, size }, &err))
        return submit_refuse(id, error, &err);
    return send_draft(quern, &draft, id, existed, &err) ||
           handle_fail(error, &err);
}
