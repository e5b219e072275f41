/* replay_end.c - checks that the job ends the same, with the same result. */
#include <string.h>

#include "consumer/output/result.h"
#include "consumer/replay/replay.h"
#include "schemas/json/convert.h"

static const char unsaved[] = "The session was not saved: ";

/* Whether the job ended from outside, and not by a decision: cancelled, too
 * late, or failed at a moment when the conversation went on. */
static bool came_from_outside(const struct replay *replay,
                              const struct result *recorded)
{
    bool plan =
        decide_next(&replay->conversation, &replay->today.terms) == NEXT_END;
    bool failed = recorded->status == STATE_FAILED;
    if (replay->job.kind == JOB_SESSION)
        return true; /* Redis and the executor do all of its work */
    if (view_is(recorded->error.code, "aborted"))
        return false; /* by a person's verdict: it is in the journal */
    if (recorded->status == STATE_CANCELLED ||
        (failed && view_is(recorded->error.code, "deadline_exceeded")))
        return true;
    return failed && !plan && !view_is(recorded->error.code, "cell_failed");
}

/* Whether Redis wrote the result itself, because no consumer had the job any
 * more: it has nothing of the conversation. */
static bool is_of_redis(const struct result *recorded)
{
    return !recorded->messages && recorded->cells.count == 0 &&
           recorded->timings.total == 0 &&
           (recorded->status == STATE_CANCELLED ||
            recorded->status == STATE_FAILED);
}

static void replay_end_copy_text(char *to, size_t room, struct view text)
{
    text = view_head(text, room - 1);
    memcpy(to, !text.data ? "" : text.data, text.len);
    to[text.len] = '\0';
}

static void why_recorded(const struct result_error *error, struct err *why)
{
    *why = (struct err){ 0 };
    if (error->code.len == 0)
        return;
    why->kind = error->retryable ? ERR_RETRY : ERR_REJECT;
    replay_end_copy_text(why->code, sizeof(why->code), error->code);
    replay_end_copy_text(why->text, sizeof(why->text), error->message);
}

/* What the result has beside the conversation is taken as it is. */
static struct job_outcome ending_of(const struct result *recorded)
{
    struct job_outcome ending = {
        .id = recorded->id,
        .status = recorded->status,
        .attempts = recorded->attempts,
        .queued_ms = recorded->timings.queued,
        .total_ms = recorded->timings.total,
        .model = recorded->model,
        .isolation = recorded->isolation,
        .listing = recorded->listing,
        .conversation = recorded->conversation,
        .record = recorded->record,
    };
    why_recorded(&recorded->error, &ending.why);
    return ending;
}

/* Whether the session was saved came from outside: removes such a note. */
static void pass_over_unsaved(struct result *recorded,
                              const struct result *replayed)
{
    struct view notes = recorded->notes, own = replayed->notes;
    if (!view_starts(notes, unsaved) || own.len > notes.len)
        return;
    size_t from = notes.len - own.len;
    if (view_equal((struct view){ notes.data + from, own.len }, own))
        recorded->notes = own;
}

static bool compare(struct replay *replay, struct result *recorded,
                    const struct buf *bytes, struct arena *arena,
                    struct err *err)
{
    struct result replayed;
    if (!message_decode(&schema_result, buf_view(bytes), &replayed, arena, err))
        return false;
    pass_over_unsaved(recorded, &replayed);
    return replay_compare(replay, "result",
                          json_from_message(&schema_result, recorded),
                          json_from_message(&schema_result, &replayed));
}

static bool check_result(struct replay *replay, struct result *recorded,
                         const struct job_outcome *ending, struct arena *arena,
                         struct err *err)
{
    CLEANUP(buf_finish) struct buf bytes;
    result_write(&bytes, &replay->conversation, ending);
    return compare(replay, recorded, &bytes, arena, err);
}

static bool replay_end_read_result(const struct replay *replay,
                                   struct result *result, struct arena *arena,
                                   struct err *err)
{
    return message_decode(&schema_result, replay->recording->result, result,
                          arena, err) ||
           err_prefix(err, "the result");
}

void replay_read_result(struct replay *replay)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct result result;
    struct err err;
    if (replay->recording->result.len > 0 &&
        replay_end_read_result(replay, &result, &arena, &err) &&
        result.messages)
        replay->messages = json_from_value(result.messages);
}

/* The outcome for a job that has ended although the conversation goes on. */
static bool ended_early(struct replay *replay, const struct result *recorded)
{
    return replay_compare(replay, "result",
                          json_pack("{s:s, s:s, s:o}", "step", "end", "status",
                                    job_state_names[recorded->status], "code",
                                    replay_text(recorded->error.code)),
                          replay_next(replay));
}

bool replay_check_end(struct replay *replay, struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct result recorded;
    if (replay->recording->result.len == 0)
        return true;
    if (!replay_end_read_result(replay, &recorded, &arena, err))
        return false;
    replay->outcome->turn = replay->conversation.turn;
    bool outside = came_from_outside(replay, &recorded);
    if (!outside &&
        decide_next(&replay->conversation, &replay->today.terms) != NEXT_END)
        return ended_early(replay, &recorded);
    struct job_outcome ending = ending_of(&recorded);
    if (replay->job.kind == JOB_SESSION)
        ending.files = recorded.files;
    if (!outside)
        ending.status = decide_end(&replay->conversation, &replay->today.terms,
                                   &ending.why);
    ending.answer =
        decide_answer(&replay->conversation, &replay->today.terms, &arena);
    if (outside) /* what was streamed until then is in no journal */
        ending.answer = recorded.answer;
    bool same = is_of_redis(&recorded) ||
                check_result(replay, &recorded, &ending, &arena, err);
    replay->outcome->steps += same;
    return same;
}

/* The facts that Redis had are in no recording, so the recorded error is
 * believed. */
bool replay_says_other(const struct replay *replay, struct err *why)
{
    static const char *const codes[] = {
        "tenant_mismatch",  "queue_mismatch",    "priority_mismatch",
        "session_mismatch", "deadline_mismatch", "not_before_mismatch",
    };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct result recorded;
    struct err err;
    if (replay->recording->result.len == 0 ||
        !replay_end_read_result(replay, &recorded, &arena, &err))
        return false;
    why_recorded(&recorded.error, why);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(why->code, codes[i]) == 0)
            return true;
    return false;
}

bool replay_check_unread(struct replay *replay, const struct err *why,
                         struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct result recorded;
    if (replay->recording->result.len == 0)
        return true;
    if (!replay_end_read_result(replay, &recorded, &arena, err))
        return false;
    struct job_outcome ending = ending_of(&recorded);
    ending.status = STATE_FAILED;
    ending.why = *why;
    ending.metadata = job_metadata(replay->recording->body, &arena);
    ending.unknown = &replay->job.unknown;
    bool same = is_of_redis(&recorded) ||
                check_result(replay, &recorded, &ending, &arena, err);
    replay->outcome->steps += same;
    return same;
}
