/* replay_call.c - checks that the same calls follow, and that the model is told
 * the same about them. */
#include "consumer/conversation/observation.h"
#include "consumer/conversation/tools.h"
#include "consumer/replay/replay.h"

/* Calls of a group are made at once, and what is decided about one depends on
 * how many results there were at that moment, which no record says. So each
 * number of results from the beginning of the group to now is tried: a record
 * is right if any of them explains it. */
struct moments {
    size_t first, last;
};

static size_t first_of_group(const struct conversation *conversation)
{
    const struct call *call = conversation_call(conversation);
    while (call > conversation->calls && decide_is_tool(call - 1))
        call--;
    return (size_t)(call - conversation->calls);
}

static struct moments moments_of(struct replay *replay, const struct call *call)
{
    const struct conversation *conversation = &replay->conversation;
    size_t now = conversation->result_count;
    if (!decide_is_tool(call))
        return (struct moments){ now, now };
    size_t group = first_of_group(conversation);
    if (replay->turn != conversation->turn || replay->group != group)
        replay->digests = now;
    replay->turn = conversation->turn;
    replay->group = group;
    return (struct moments){ replay->digests, now };
}

/* The call of the record, if it may follow now: the next one, or another one of
 * its group. NULL: it may not. */
static const struct call *call_of(const struct replay *replay,
                                  const struct record *record)
{
    const struct conversation *conversation = &replay->conversation;
    const struct call *next = conversation_call(conversation);
    const struct call *call = conversation_find(conversation, record->call);
    if (!call || call == next)
        return call;
    for (const struct call *at = next; at <= call; at++)
        if (!decide_is_tool(at))
            return NULL;
    return call > next && !call->answered ? call : NULL;
}

/* ------------------------------------------------------------- the same? */

/* What is decided about a call at one of the moments. */
struct judgement {
    enum ruling ruling;
    struct buf bytes; /* code, or arguments */
    struct err why;
};

static void replay_call_judge(struct judgement *judgement,
                              const struct replay *replay,
                              const struct call *call, size_t digests)
{
    struct conversation then = replay->conversation; /* borrows all of it */
    const struct terms *terms = &replay->today.terms;
    const struct tool *tool = NULL;
    then.result_count = digests;
    *judgement = (struct judgement){ 0 };
    if (!decide_is_tool(call)) {
        judgement->ruling =
            decide_code(&then, terms, call, &judgement->bytes, &judgement->why);
        return;
    }
    judgement->ruling = decide_tool(&then, terms, call, &tool,
                                    &judgement->bytes, &judgement->why);
}

static json_t *named(const char *step, struct view call, struct view call_id,
                     struct view tool)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "step", step, "call",
                     replay_text(call), "call_id", replay_text(call_id), "tool",
                     replay_text(tool));
}

static json_t *named_today(const char *step, const struct call *call)
{
    return named(step, view_of(call->id),
                 view_head(view_of(call->call_id), MAX_NAME_BYTES),
                 view_head(view_of(call->tool), MAX_NAME_BYTES));
}

static json_t *named_then(const struct record *record)
{
    return named(record_kind_names[record->kind], record->call, record->call_id,
                 record->tool);
}

static void replay_call_put(json_t *json, const char *name, json_t *value)
{
    json_object_set_new(json, name, value);
}

static bool is_elsewhere(struct replay *replay, const struct record *record)
{
    return replay_compare(replay, record_kind_names[record->kind],
                          named_then(record), replay_next(replay));
}

/* ----------------------------------------------------------------- intent */

static json_t *refusal_of(const struct call *call,
                          const struct judgement *judgement)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, MAX_RECORD_BYTES);
    decide_refusal(call, judgement->ruling, &judgement->why, &text);
    return replay_text(buf_view(&text));
}

bool replay_check_call(struct replay *replay, const struct record *record,
                       struct err *err)
{
    (void)err;
    const struct call *call = call_of(replay, record);
    if (!call || call->intended)
        return is_elsewhere(replay, record);
    struct moments moments = moments_of(replay, call);
    struct judgement judgement = { .ruling = RULING_REFUSE };
    for (size_t digests = moments.first;
         digests <= moments.last && judgement.ruling != RULING_RUN; digests++) {
        buf_finish(&judgement.bytes);
        replay_call_judge(&judgement, replay, call, digests);
    }
    json_t *recorded = named_then(record);
    json_t *replayed = named_today("tool_intent", call);
    if (replay->job.kind != JOB_CODE) {
        replay_call_put(recorded, "arguments", replay_text(record->arguments));
        replay_call_put(replayed, "arguments",
                        replay_text(call_arguments(call)));
    }
    if (judgement.ruling != RULING_RUN)
        replay_call_put(replayed, "refused", refusal_of(call, &judgement));
    buf_finish(&judgement.bytes);
    return replay_compare(replay, "tool_intent", recorded, replayed);
}

/* ----------------------------------------------------------------- result */

static bool hints_at(const struct replay *replay, const struct call *call,
                     const struct record *record, size_t digests)
{
    struct record bare = *record;
    bare.brake = BRAKED_NOT;
    return decide_hint(&replay->conversation, digests, &replay->today.terms,
                       record->cell.code.len > 0 ? record->cell.code
                                                 : call_arguments(call),
                       &bare);
}

/* The recorded brake if one of the moments explains it, else that of the last.
 */
static enum record_brake brake_of(const struct replay *replay,
                                  const struct call *call,
                                  const struct record *record,
                                  struct moments moments)
{
    enum record_brake brake = BRAKED_NOT;
    for (size_t digests = moments.first; digests <= moments.last; digests++) {
        brake =
            hints_at(replay, call, record, digests) ? BRAKED_HINT : BRAKED_NOT;
        if ((int)brake == record->brake)
            break;
    }
    return brake;
}

static json_t *outcome_then(const struct record *record)
{
    json_t *json = named_then(record);
    replay_call_put(json, "observation", replay_text(record->observation));
    replay_call_put(json, "brake",
                    json_string(record_brake_names[record->brake]));
    replay_call_put(json, "failed", json_boolean(record->failed));
    return json;
}

static bool check_cell(struct replay *replay, const struct call *call,
                       const struct record *record)
{
    CLEANUP(buf_finish) struct buf text;
    struct moments now = moments_of(replay, call);
    struct judgement judgement;
    json_t *recorded = outcome_then(record);
    json_t *replayed = named_today("tool_result", call);
    replay_call_judge(&judgement, replay, call, now.last);
    observation_write(&text, record);
    if (replay->job.kind == JOB_CODE)
        buf_clear(&text);
    replay_call_put(replayed, "observation", replay_text(buf_view(&text)));
    replay_call_put(
        replayed, "brake",
        json_string(record_brake_names[brake_of(replay, call, record, now)]));
    replay_call_put(replayed, "failed", json_false());
    replay_call_put(recorded, "code", replay_text(record->cell.code));
    replay_call_put(replayed, "code", replay_text(buf_view(&judgement.bytes)));
    buf_finish(&judgement.bytes);
    return replay_compare(replay, "tool_result", recorded, replayed);
}

/* The journal keeps of a tool's value only what the model was told: that is
 * taken as it is. */
static bool check_value(struct replay *replay, const struct call *call,
                        const struct record *record)
{
    struct moments moments = moments_of(replay, call);
    json_t *replayed = named_today("tool_result", call);
    replay_call_put(replayed, "observation", replay_text(record->observation));
    replay_call_put(
        replayed, "brake",
        json_string(
            record_brake_names[brake_of(replay, call, record, moments)]));
    replay_call_put(replayed, "failed", json_boolean(record->failed));
    return replay_compare(replay, "tool_result", outcome_then(record),
                          replayed);
}

/* Whether the tool itself refused a call that its parameters allow: that came
 * from outside. */
static bool is_its_own(const struct call *call,
                       const struct judgement *judgement,
                       const struct record *record)
{
    return decide_is_tool(call) && judgement->ruling != RULING_REFUSE &&
           judgement->ruling != RULING_BAR && record->failed &&
           record->brake != BRAKED_FORBID;
}

/* The brake of a call that was not made. Code that is refused has none. */
static enum record_brake brake_of_refusal(const struct replay *replay,
                                          const struct call *call,
                                          const struct judgement *judgement,
                                          const struct record *record,
                                          struct moments moments)
{
    if (judgement->ruling == RULING_FORBID)
        return BRAKED_FORBID;
    return decide_is_tool(call) ? brake_of(replay, call, record, moments)
                                : BRAKED_NOT;
}

static json_t *refused_today(const struct replay *replay,
                             const struct call *call,
                             const struct judgement *judgement,
                             const struct record *record,
                             struct moments moments)
{
    json_t *json = named_today("tool_result", call);
    enum record_brake brake =
        brake_of_refusal(replay, call, judgement, record, moments);
    if (judgement->ruling == RULING_RUN)
        replay_call_put(json, "step", json_string("tool_intent"));
    else
        replay_call_put(json, "observation", refusal_of(call, judgement));
    replay_call_put(json, "brake", json_string(record_brake_names[brake]));
    replay_call_put(json, "failed", json_true());
    return json;
}

static bool check_refusal(struct replay *replay, const struct call *call,
                          const struct record *record)
{
    struct moments moments = moments_of(replay, call);
    json_t *recorded = outcome_then(record);
    json_t *replayed = NULL;
    bool same = false;
    for (size_t digests = moments.first; digests <= moments.last && !same;
         digests++) {
        struct judgement judgement;
        replay_call_judge(&judgement, replay, call, digests);
        json_decref(replayed);
        replayed = refused_today(replay, call, &judgement, record, moments);
        if (is_its_own(call, &judgement, record)) {
            json_decref(replayed);
            replayed = json_incref(recorded);
        }
        same = json_equal(recorded, replayed);
        buf_finish(&judgement.bytes);
    }
    return replay_compare(replay, "tool_result", recorded, replayed);
}

bool replay_check_outcome(struct replay *replay, const struct record *record,
                          struct err *err)
{
    (void)err;
    const struct call *call = call_of(replay, record);
    if (!call)
        return is_elsewhere(replay, record);
    if (!call->intended)
        return check_refusal(replay, call, record);
    return decide_is_tool(call) ? check_value(replay, call, record)
                                : check_cell(replay, call, record);
}
