/* replay_ask.c - is the model asked the same? */
#include "consumer/model/model_body.h"
#include "consumer/model/reply_json.h"
#include "consumer/replay/replay.h"

/* A request as it would be sent. */
struct built {
    struct decided decided;
    struct buf body;
    char hash[65];
    struct err why; /* kind ERR_NONE: it could be made */
};

static void build(struct built *built, const struct conversation *conversation,
                  const struct terms *terms, enum ask_kind kind)
{
    struct decided *decided = &built->decided;
    *built = (struct built){ 0 };
    if (decide_request(conversation, terms, kind, decided, &built->why) &&
        model_body_make(&built->body, built->hash, terms->endpoint,
                        &decided->request, &built->why))
        built->why.kind = ERR_NONE;
    json_decref(decided->asked.messages);
}

static void built_finish(struct built *built)
{
    buf_finish(&built->body);
}

static json_t *built_body(const struct built *built)
{
    struct view body = buf_view(&built->body);
    return json_loadb(body.len > 0 ? body.data : "", body.len, JSON_ALLOW_NUL,
                      NULL);
}

static bool is_same(const struct built *built, const struct record *record,
                    bool hidden)
{
    const struct decided *decided = &built->decided;
    if (record->failed) /* as nothing more was left */
        return !decided->plan.fits &&
               view_is(record->last, decided->plan.limit);
    return built->why.kind == ERR_NONE &&
           view_is(record->last, decided->last) &&
           record->kept == decided->asked.kept &&
           record->tokens == decided->asked.tokens &&
           record->reserved == decided->plan.reserved &&
           record->cost == decided->plan.cost &&
           (hidden || view_is(record->hash, built->hash));
}

/* One that was too long was sent again with less: that is known by what it
 * leaves out. */
static bool build_same(struct built *built, const struct replay *replay,
                       const struct terms *terms, const struct record *record)
{
    const struct conversation *conversation = &replay->conversation;
    bool hidden = replay->today.hidden;
    build(built, conversation, terms, ASK_NEXT);
    if (is_same(built, record, hidden) || !replay->refused)
        return is_same(built, record, hidden);
    struct built less;
    build(&less, conversation, terms, ASK_LESS);
    if (!is_same(&less, record, hidden)) {
        built_finish(&less);
        return false;
    }
    built_finish(built);
    *built = less;
    return true;
}

/* ------------------------------------------------------------- difference
 */

/* Of the conversation as it is now, the part that the result has as well. */
static json_t *messages_of(const json_t *all, size_t count)
{
    json_t *some = json_array();
    for (size_t i = 0; i < count && i < json_array_size(all); i++)
        json_array_append(some, json_array_get(all, i));
    return some;
}

static void put_number(json_t *step, const char *name, uint64_t number)
{
    json_object_set_new(step, name, json_integer((json_int_t)number));
}

/* Behind the request: that says most to people. */
static void put_rest(json_t *step, const struct record *record)
{
    json_object_set_new(step, "last", replay_text(record->last));
    if (record->failed)
        return;
    put_number(step, "kept", record->kept);
    put_number(step, "tokens", record->tokens);
    put_number(step, "reserved", record->reserved);
    put_number(step, "cost", record->cost);
    json_object_set_new(step, "sha256", replay_text(record->hash));
}

static json_t *recorded_step(const struct record *record, const char *what,
                             json_t *content)
{
    json_t *step = json_pack("{s:I}", "turn", (json_int_t)record->turn);
    if (content != NULL)
        json_object_set_new(step, what, content);
    put_rest(step, record);
    return step;
}

static json_t *built_step(const struct built *built, uint64_t turn,
                          const char *what, json_t *content)
{
    const struct decided *decided = &built->decided;
    const struct record today = { .last = view_of(decided->last),
                                  .kept = decided->asked.kept,
                                  .tokens = decided->asked.tokens,
                                  .reserved = decided->plan.reserved,
                                  .cost = decided->plan.cost,
                                  .hash = view_of(built->hash) };
    json_t *step = json_pack("{s:I}", "turn", (json_int_t)turn);
    json_object_set_new(step, what, content);
    if (built->why.kind != ERR_NONE)
        json_object_set_new(step, "error", json_string(built->why.text));
    else
        put_rest(step, &today);
    return step;
}

/* The bytes that were sent are not kept. They can be had again from the terms
 * that were in force; else the result may have the messages. */
static bool tell(struct replay *replay, const struct record *record,
                 const struct built *built, struct err *err)
{
    const struct conversation *conversation = &replay->conversation;
    size_t count = json_array_size(conversation->messages);
    json_t *before = NULL;
    struct built then = { 0 };
    struct today terms;
    bool loaded = today_load(&terms, replay->terms, &replay->job, WHEN_RECORDED,
                             NULL, err);
    if (loaded && build_same(&then, replay, &terms.terms, record))
        before = built_body(&then);
    else if (replay->messages != NULL)
        before = messages_of(replay->messages, count);
    bool messages = json_is_array(before);
    const char *what = messages ? "messages" : "request";
    json_t *after = messages ? messages_of(conversation->messages, count)
                             : built_body(built);
    built_finish(&then);
    today_finish(&terms);
    replay_compare(replay, "model_intent", recorded_step(record, what, before),
                   built_step(built, conversation->turn + 1, what, after));
    return false;
}

/* ------------------------------------------------------------------ terms
 */

static bool take_terms(struct replay *replay, const struct record *record,
                       struct err *err)
{
    if (record->terms.len > 0) {
        replay->terms = record->terms;
        today_finish(&replay->today);
        replay->has_terms =
            today_load(&replay->today, record->terms, &replay->job, WHEN_TODAY,
                       replay->prompts, err);
        return replay->has_terms;
    }
    return replay->has_terms ||
           err_set(err, ERR_REJECT, "unsupported_version",
                   "the journal does not say under which terms the model was "
                   "asked: it is of an older quern");
}

bool replay_check_intent(struct replay *replay, const struct record *record,
                         struct err *err)
{
    struct built built = { 0 };
    if (record->failed && record->last.len == 0)
        return true; /* that it was refused came from outside */
    if (!take_terms(replay, record, err))
        return false;
    bool same = build_same(&built, replay, &replay->today.terms, record) ||
                tell(replay, record, &built, err);
    bool sent = same && !record->failed;
    replay->outcome->requests += sent && !replay->today.hidden;
    replay->outcome->hidden += sent && replay->today.hidden;
    built_finish(&built);
    return same;
}
