/* recording.c - a job as it ran, out of what Redis keeps of it. */
#include "schemas/json/recording.h"

#include <stdlib.h>

#include "producer/client/fleet.h"
#include "producer/client/quern_operate.h"

static redisReply *ask(struct quern *quern, struct view id,
                       const struct key *key, bool is_list, struct err *err)
{
    struct command command;
    redisReply *reply;

    command_init(&command, is_list ? "LRANGE" : "GET");
    command_add(&command, key_view(key));
    if (is_list) {
        command_add_text(&command, "0");
        command_add_text(&command, "-1");
    }
    reply = handle_call_job(quern, id, &command, err);
    command_finish(&command);
    return reply;
}

/* What a job has is read while it goes on: where there is a result, all of the
 * journal is there, too. */
struct kept {
    redisReply *result, *body, *journal;
};

static bool read_kept(struct quern *quern, struct view id, struct kept *kept,
                      struct err *err)
{
    const struct names *names = &quern->fleet->names;
    struct key result = names_result(names, id);
    struct key body = names_body(names, id);
    struct key journal = names_journal(names, id);

    return (kept->result = ask(quern, id, &result, false, err)) &&
           (kept->body = ask(quern, id, &body, false, err)) &&
           (kept->journal = ask(quern, id, &journal, true, err));
}

static bool write_kept(const struct kept *kept, struct view id, char **text,
                       size_t *size, struct err *err)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_RECORDING_BYTES };
    size_t count = kept->journal->elements;
    CLEANUP(cleanup_free)
    struct view *records = calloc(count + 1, sizeof(*records));
    struct recording recording = {
        .id = id,
        .body = reply_view(kept->body),
        .records = { records, count },
        .result = reply_view(kept->result),
    };

    if (!records)
        abort();
    for (size_t i = 0; i < count; i++)
        records[i] = reply_view(kept->journal->element[i]);
    if (recording.body.len == 0)
        return err_set(err, ERR_REJECT, "expired",
                       "what was submitted as job %.*s is not kept: it waits "
                       "in a lane, had nothing to do, or ended long ago",
                       VIEW_ARG(id));
    if (!recording_write(&recording, &out, err))
        return err_prefix(err, "job %.*s", VIEW_ARG(id));
    *text = view_dup(buf_view(&out));
    *size = out.len;
    return true;
}

bool quern_record(struct quern *quern, const char *id_text, char **text,
                  size_t *size, struct quern_error *error)
{
    struct kept kept = { 0 };
    struct err err = { 0 };
    struct view id;
    bool ok = handle_id(&id, id_text, &err) &&
              read_kept(quern, id, &kept, &err) &&
              write_kept(&kept, id, text, size, &err);

    cleanup_reply(&kept.result);
    cleanup_reply(&kept.body);
    cleanup_reply(&kept.journal);
    return ok || handle_fail(error, &err);
}
