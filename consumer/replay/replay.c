/* replay.c - walks through the journal of a recorded job, and checks each
 * record before it is applied to the conversation. */
#include "consumer/replay/replay.h"

#include <string.h>

#include "schemas/json/convert.h"

/* ---------------------------------------------------------------- outcome
 */

void outcome_finish(struct replay_outcome *outcome)
{
    json_decref(outcome->recorded);
    json_decref(outcome->replayed);
    *outcome = (struct replay_outcome){ 0 };
}

bool replay_compare(struct replay *replay, const char *what, json_t *recorded,
                    json_t *replayed)
{
    struct replay_outcome *outcome = replay->outcome;
    if (json_equal(recorded, replayed)) {
        json_decref(recorded);
        json_decref(replayed);
        return true;
    }
    outcome->differs = true;
    outcome->what = what;
    outcome->recorded = recorded;
    outcome->replayed = replayed;
    return false;
}

json_t *replay_text(struct view text)
{
    struct view shown = !text.data ? VIEW("") : text;
    msgpack_object object = { .type = MSGPACK_OBJECT_BIN };
    object.via.bin.ptr = shown.data;
    object.via.bin.size = (uint32_t)shown.len;
    return json_from_value(&object);
}

json_t *replay_next(const struct replay *replay)
{
    const struct conversation *conversation = &replay->conversation;
    struct err why;
    const struct call *call =
        decide_approval(conversation, &replay->today.terms, &why);
    if (call)
        return json_pack("{s:s, s:I, s:s, s:o}", "step", "approval", "turn",
                         (json_int_t)conversation->turn, "call", call->id,
                         "tool", replay_text(view_of(call->tool)));
    switch (decide_next(conversation, &replay->today.terms)) {
    case NEXT_ASK:
        return json_pack("{s:s, s:I}", "step", "model_intent", "turn",
                         (json_int_t)conversation->turn + 1);
    case NEXT_CALL:
        call = conversation_call(conversation);
        return json_pack("{s:s, s:I, s:s, s:o, s:o}", "step", "tool_intent",
                         "turn", (json_int_t)conversation->turn, "call",
                         call->id, "tool", replay_text(view_of(call->tool)),
                         "arguments", replay_text(call_arguments(call)));
    case NEXT_END:
        break;
    }
    int status = decide_end(conversation, &replay->today.terms, &why);
    return json_pack("{s:s, s:s, s:s}", "step", "end", "status",
                     job_state_names[status], "code", why.code);
}

/* ---------------------------------------------------------------- records
 */

/* The outcome for a record that does not follow here: both sides in the form of
 * replay_next(). */
static bool out_of_place(struct replay *replay, const struct record *record)
{
    json_t *recorded =
        json_pack("{s:s, s:I}", "step", record_kind_names[record->kind], "turn",
                  (json_int_t)record->turn);
    if (record->call.len > 0)
        json_object_set_new(recorded, "call", replay_text(record->call));
    if (record->tool.len > 0)
        json_object_set_new(recorded, "tool", replay_text(record->tool));
    if (record->arguments.len > 0)
        json_object_set_new(recorded, "arguments",
                            replay_text(record->arguments));
    return replay_compare(replay, record_kind_names[record->kind], recorded,
                          replay_next(replay));
}

/* The reply came from outside. Only what the model is told of one that was cut
 * off is decided here. */
static bool check_reply(struct replay *replay, const struct record *record)
{
    struct view told =
        record->observation.len > 0 ? view_of(prompt_cut) : VIEW("");
    return replay_compare(replay, "model_reply",
                          json_pack("{s:I, s:o}", "turn",
                                    (json_int_t)record->turn, "told",
                                    replay_text(record->observation)),
                          json_pack("{s:I, s:o}", "turn",
                                    (json_int_t)replay->conversation.turn + 1,
                                    "told", replay_text(told)));
}

/* A call that code made. Which calls it makes came from outside; whether the
 * tool may be called from code is decided here. */
static bool check_inner(struct replay *replay, const struct record *record)
{
    struct err why;
    if (!replay->has_terms ||
        decide_code_tool(&replay->conversation, &replay->today.terms,
                         record->call, record->tool, &why))
        return true;
    return replay_compare(
        replay, record_kind_names[record->kind],
        json_pack("{s:o, s:s}", "tool", replay_text(record->tool), "error", ""),
        json_pack("{s:o, s:s}", "tool", replay_text(record->tool), "error",
                  why.text));
}

/* Whether a person must be asked now, about the call of the record. The verdict
 * came from outside; the call that it is about did not. */
static bool is_asked(const struct replay *replay, const struct record *record)
{
    struct err why;
    const struct call *call =
        decide_approval(&replay->conversation, &replay->today.terms, &why);
    return call &&
           (record->kind != RECORD_APPROVAL || view_is(record->call, call->id));
}

/* Whether a record of that kind follows now. */
static bool is_placed(const struct replay *replay, const struct record *record)
{
    const struct conversation *conversation = &replay->conversation;
    enum next_action next = decide_next(conversation, &replay->today.terms);
    switch ((enum record_kind)record->kind) {
    case RECORD_MODEL_INTENT:
        return next == NEXT_ASK;
    case RECORD_MODEL_SENT:
    case RECORD_MODEL_REPLY:
        return next == NEXT_ASK && conversation->spending.asked;
    case RECORD_APPROVAL:
        return is_asked(replay, record);
    case RECORD_TOOL_INTENT:
    case RECORD_TOOL_RESULT:
        return next == NEXT_CALL && !is_asked(replay, record);
    }
    return false;
}

static bool replay_check_record(struct replay *replay,
                                const struct record *record, struct err *err)
{
    if (!is_placed(replay, record))
        return out_of_place(replay, record);
    if (record->kind == RECORD_MODEL_INTENT)
        return replay_check_intent(replay, record, err);
    if (record->kind == RECORD_MODEL_REPLY)
        return check_reply(replay, record);
    if (record->kind == RECORD_APPROVAL || record->kind == RECORD_MODEL_SENT)
        return true;
    if (record->number > 0)
        return check_inner(replay, record);
    return record->kind == RECORD_TOOL_INTENT
               ? replay_check_call(replay, record, err)
               : replay_check_outcome(replay, record, err);
}

/* The outcome for a record that cannot be applied: the journal contradicts
 * itself. */
static bool broken_journal(struct replay *replay, const struct record *record,
                           const struct err *why)
{
    return replay_compare(replay, "journal",
                          json_pack("{s:s, s:o}", "step",
                                    record_kind_names[record->kind], "call",
                                    replay_text(record->call)),
                          json_pack("{s:s}", "error", why->text));
}

/* One record. False: the replay ends here, by a difference, which is in the
 * outcome, or by an error, which is in err. */
static bool replay_step(struct replay *replay, struct view bytes,
                        struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct replay_outcome *outcome = replay->outcome;
    struct record record;
    struct err why = { 0 };
    if (!message_decode(&schema_record, bytes, &record, &arena, err))
        return err_prefix(err, "record %zu of the journal", outcome->steps);
    outcome->turn = record.turn;
    snprintf(outcome->call, sizeof(outcome->call), "%.*s",
             VIEW_ARG(view_head(record.call, sizeof(outcome->call) - 1)));
    if (!replay_check_record(replay, &record, err))
        return false;
    if (!conversation_apply(&replay->conversation, bytes, &why))
        return broken_journal(replay, &record, &why);
    replay->refused = record.kind == RECORD_MODEL_INTENT && record.failed;
    outcome->steps++;
    outcome->call[0] = '\0';
    return true;
}

/* -------------------------------------------------------------------- all
 */

/* Adds the words for a user who uploaded files and said nothing. They are a
 * prompt of the terms, so the first terms of the journal are needed before it
 * is walked. */
static bool speak_for_user(struct replay *replay, struct arena *arena,
                           struct err *err)
{
    const struct recording *recording = replay->recording;
    const struct view *records = recording->records.items;
    struct record record = { 0 };
    if (!decide_is_upload(&replay->job))
        return true;
    for (size_t i = 0; i < recording->records.count && record.terms.len == 0;
         i++)
        if (!message_decode(&schema_record, records[i], &record, arena, err))
            return err_prefix(err, "record %zu of the journal", i);
    if (record.terms.len > 0 &&
        !today_load(&replay->today, record.terms, &replay->job, WHEN_TODAY,
                    replay->prompts, err))
        return false;
    decide_upload(&replay->job, &replay->today.prompts, arena);
    return true;
}

static bool walk(struct replay *replay, struct err *err)
{
    const struct view *records = replay->recording->records.items;
    for (size_t i = 0; i < replay->recording->records.count; i++)
        if (!replay_step(replay, records[i], err))
            return false;
    return true;
}

static void replay_run_job(struct replay *replay, struct arena *arena,
                           struct err *err)
{
    const struct recording *recording = replay->recording;
    struct err why;
    bool read = decide_job(&replay->job, replay->recording->id,
                           replay->recording->body, arena, &why) &&
                !replay_says_other(replay, &why);
    if (read && !speak_for_user(replay, arena, err))
        return;
    bool known =
        read &&
        conversation_init(&replay->conversation, &replay->job,
                          recording_blob(recording, replay->job.earlier), &why);
    if (!known) {
        replay_check_unread(replay, &why, err);
        return;
    }
    replay_read_result(replay);
    if (walk(replay, err))
        replay_check_end(replay, err);
}

bool replay_run(const struct recording *recording, const char *prompts,
                struct replay_outcome *outcome, struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct replay replay = {
        .recording = recording,
        .prompts = prompts,
        .outcome = outcome,
    };
    struct err why = { .kind = ERR_NONE };
    *outcome = (struct replay_outcome){ 0 };
    replay_run_job(&replay, &arena, &why);
    conversation_finish(&replay.conversation);
    today_finish(&replay.today);
    json_decref(replay.messages);
    if (why.kind != ERR_NONE)
        *err = why;
    return why.kind == ERR_NONE;
}
