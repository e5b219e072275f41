/* replay_ask.c - is the model asked the same? */
#include "consumer/model/model_body.h"
#include "consumer/model/reply_json.h"
#include "consumer/replay/replay.h"

/* A request as it would be sent. */
struct built {
    struct asked_for asked;
    struct buf body;
    char hash[65];
    const char *last;
    struct err why; /* kind ERR_NONE: it could be made */
};

static void build(struct built *built, const struct conversation *conversation,
                  const struct terms *terms, bool squeeze)
{
    struct model_request request;
    *built = (struct built){ .last = decide_last(conversation, terms) };
    if (decide_request(conversation, terms, squeeze, &built->asked, &request,
                       &built->why) &&
        model_body_make(&built->body, built->hash, terms->endpoint, &request,
                        &built->why))
        built->why.kind = ERR_NONE;
    json_decref(built->asked.messages);
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
    return built->why.kind == ERR_NONE && view_is(record->last, built->last) &&
           record->kept == built->asked.kept &&
           record->tokens == built->asked.tokens &&
           (hidden || view_is(record->hash, built->hash));
}

/* One that was too long was sent again with less: that is known by what it
 * leaves out. */
static bool build_same(struct built *built, const struct replay *replay,
                       const struct terms *terms, const struct record *record)
{
    const struct conversation *conversation = &replay->conversation;
    bool hidden = replay->today.hidden;
    build(built, conversation, terms, false);
    if (is_same(built, record, hidden) || !replay->refused)
        return is_same(built, record, hidden);
    struct built less;
    build(&less, conversation, terms, true);
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

/* Behind the request: that says most to people. */
static void put_rest(json_t *step, struct view last, uint64_t kept,
                     uint64_t tokens, struct view hash)
{
    json_object_set_new(step, "last", replay_text(last));
    json_object_set_new(step, "kept", json_integer((json_int_t)kept));
    json_object_set_new(step, "tokens", json_integer((json_int_t)tokens));
    json_object_set_new(step, "sha256", replay_text(hash));
}

static json_t *recorded_step(const struct record *record, const char *what,
                             json_t *content)
{
    json_t *step = json_pack("{s:I}", "turn", (json_int_t)record->turn);
    if (content != NULL)
        json_object_set_new(step, what, content);
    put_rest(step, record->last, record->kept, record->tokens, record->hash);
    return step;
}

static json_t *built_step(const struct built *built, uint64_t turn,
                          const char *what, json_t *content)
{
    json_t *step = json_pack("{s:I}", "turn", (json_int_t)turn);
    json_object_set_new(step, what, content);
    if (built->why.kind != ERR_NONE)
        json_object_set_new(step, "error", json_string(built->why.text));
    else
        put_rest(step, view_of(built->last), built->asked.kept,
                 built->asked.tokens, view_of(built->hash));
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
    if (record->failed)
        return true; /* that it was refused came from outside */
    if (!take_terms(replay, record, err))
        return false;
    bool same = build_same(&built, replay, &replay->today.terms, record) ||
                tell(replay, record, &built, err);
    replay->outcome->requests += same && !replay->today.hidden;
    replay->outcome->hidden += same && replay->today.hidden;
    built_finish(&built);
    return same;
}
