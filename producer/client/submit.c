/* submit.c - putting a job into its queue, once. */
#include <string.h>

#include "producer/client/draft.h"

static bool send_draft(struct quern *quern, const struct draft *draft,
                       struct quern_id *id, bool *existed, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    *id = draft->id;
    draft_command(&command, quern, draft);
    reply = handle_write_job(quern, view_of(draft->id.text), &command, err);
    command_finish(&command);
    return reply && draft_submitted(reply, draft->fresh, id, existed, err);
}

/* Until one is made. */
static const struct quern_id none;

bool quern_submit(struct quern *quern, const struct quern_job *job,
                  struct quern_id *id, bool *existed, struct quern_error *error)
{
    CLEANUP(draft_finish) struct draft draft;
    struct err err = { 0 };

    *id = none;
    return (draft_read(&draft, quern, job, &none, &err) &&
            send_draft(quern, &draft, id, existed, &err)) ||
           handle_fail(error, &err);
}

bool quern_submit_json(struct quern *quern, const char *json,
                       const struct quern_file *files, size_t file_count,
                       struct quern_id *id, bool *existed,
                       struct quern_error *error)
{
    CLEANUP(draft_finish) struct draft draft;
    struct err err = { 0 };

    *id = none;
    return (draft_read_json(&draft, quern, json, files, file_count, &none,
                            &err) &&
            send_draft(quern, &draft, id, existed, &err)) ||
           handle_fail(error, &err);
}

bool quern_submit_bytes(struct quern *quern, const void *job, size_t size,
                        struct quern_id *id, bool *existed,
                        struct quern_error *error)
{
    CLEANUP(draft_finish) struct draft draft;
    struct err err = { 0 };

    *id = none;
    return (draft_read_bytes(&draft, quern, (struct view){ job, size }, &err) &&
            send_draft(quern, &draft, id, existed, &err)) ||
           handle_fail(error, &err);
}
