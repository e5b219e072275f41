/* replay_ask.c - checks that a model is asked the same: builds the request
 * again, and compares its SHA-256 and the figures of the intent. */
#include "consumer/conversation/memory.h"
#include "consumer/model/model.h"
#include "consumer/model/reply.h"
#include "consumer/replay/replay.h"

/* A request as it would be sent today. */
struct replay_request {
    struct model_plan plan;
    struct buf body;
    char hash[65];
    struct err why;  /* kind ERR_NONE: it could be made */
    bool unseen;     /* a picture in it is not in the recording */
    bool same_shown; /* all pictures of the intent were chosen again */
};

/* The recorded intent, and where it is. */
struct intent_source {
    const struct replay *replay;
    const struct record *record;
    bool unsaid; /* the session's history is not in the recording */
};

/* Gives the pictures that are chosen today their recorded bytes. The intent
 * names those that were shown; one that is chosen and was not shown was missing
 * then, or too large, and is left out here as well. */
static void take_images(struct replay_request *built,
                        const struct intent_source *source,
                        struct request_image *images, size_t count)
{
    const struct list *list = &source->record->shown;
    const struct view *blobs = list->items;
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < list->count; i++) {
        if (!view_equal(images[i].blob, blobs[shown]))
            continue;
        struct view bytes =
            recording_blob(source->replay->recording, images[i].blob);
        buf_init(&images[i].bytes, bytes.len);
        buf_add(&images[i].bytes, bytes);
        built->unseen |= bytes.len == 0;
        shown++;
    }
    built->same_shown = shown == list->count;
}

static void build(struct replay_request *built,
                  const struct intent_source *source, const struct terms *terms,
                  enum ask_kind kind)
{
    const struct conversation *conversation = &source->replay->conversation;
    struct model_plan *plan = &built->plan;
    struct request_image images[MAX_SHOWN] = { 0 };
    const struct request_context context = {
        .kind = kind,
        .images = images,
        .image_count = decide_images(conversation, terms, images),
    };
    *built = (struct replay_request){ 0 };
    take_images(built, source, images, context.image_count);
    if (decide_request(conversation, terms, &context, plan, &built->why) &&
        model_body_make(&built->body, built->hash, terms->endpoint,
                        &plan->request, &built->why))
        built->why.kind = ERR_NONE;
    json_decref(plan->content.messages);
    for (size_t i = 0; i < context.image_count; i++)
        buf_finish(&images[i].bytes);
}

static void built_finish(struct replay_request *built)
{
    buf_finish(&built->body);
}

static json_t *built_body(const struct replay_request *built)
{
    struct view body = buf_view(&built->body);
    return json_loadb(body.len > 0 ? body.data : "", body.len, JSON_ALLOW_NUL,
                      NULL);
}

/* A summary that was given up: that it failed came from outside, but how much
 * of the conversation it was to cover is decided here. */
static bool is_forgone(const struct replay_request *built,
                       const struct intent_source *source)
{
    const struct summary *summary = &source->replay->conversation.summary;
    const struct model_plan *plan = &built->plan;
    uint64_t kept = source->record->kept;
    return summary->due
               ? kept == summary->wanted
               : plan->purpose == PURPOSE_SUMMARY && kept == plan->content.kept;
}

/* Whether the request is that of the intent. Without the session's history
 * nothing but the pictures can be compared: its length, which decides on
 * limits, is not known. Without the bytes of a picture, or of a secret, the
 * hash cannot be. */
static bool replay_ask_is_same(const struct replay_request *built,
                               const struct intent_source *source)
{
    const struct record *record = source->record;
    const struct model_plan *plan = &built->plan;
    bool hidden = source->replay->today.hidden || built->unseen;
    if (!built->same_shown || source->unsaid)
        return built->same_shown;
    if (record->failed && record->purpose == PURPOSE_SUMMARY)
        return is_forgone(built, source);
    if (record->purpose != (int)plan->purpose)
        return false;
    if (record->failed) /* a limit had too little left for this request */
        return !plan->bounds.fits && view_is(record->last, plan->bounds.limit);
    return built->why.kind == ERR_NONE && view_is(record->last, plan->last) &&
           record->kept == plan->content.kept &&
           record->tokens == plan->content.tokens &&
           record->reserved == plan->bounds.reserved &&
           record->cost == plan->bounds.cost &&
           (hidden || view_is(record->hash, built->hash));
}

/* Builds the request. One behind a refusal may have been made again with less
 * of the conversation (ASK_LESS): then both are tried. */
static bool build_same(struct replay_request *built,
                       const struct intent_source *source,
                       const struct terms *terms)
{
    build(built, source, terms, ASK_NEXT);
    if (replay_ask_is_same(built, source) || !source->replay->refused)
        return replay_ask_is_same(built, source);
    struct replay_request less;
    build(&less, source, terms, ASK_LESS);
    if (!replay_ask_is_same(&less, source)) {
        built_finish(&less);
        return false;
    }
    built_finish(built);
    *built = less;
    return true;
}

/* ------------------------------------------------------------- difference
 */

/* The first count messages of a list; a new reference. */
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

/* Adds the figures of an intent. They come behind the request, which tells
 * people more. */
static void put_rest(json_t *step, const struct record *record)
{
    if (record->purpose != PURPOSE_TURN)
        json_object_set_new(step, "purpose",
                            json_string(record_purpose_names[record->purpose]));
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
    if (content)
        json_object_set_new(step, what, content);
    put_rest(step, record);
    return step;
}

static json_t *built_step(const struct replay_request *built, uint64_t turn,
                          const char *what, json_t *content)
{
    const struct model_plan *plan = &built->plan;
    const struct record today = { .purpose = (int)plan->purpose,
                                  .last = view_of(plan->last),
                                  .kept = plan->content.kept,
                                  .tokens = plan->content.tokens,
                                  .reserved = plan->bounds.reserved,
                                  .cost = plan->bounds.cost,
                                  .hash = view_of(built->hash) };
    json_t *step = json_pack("{s:I}", "turn", (json_int_t)turn);
    json_object_set_new(step, what, content);
    if (built->why.kind != ERR_NONE)
        json_object_set_new(step, "error", json_string(built->why.text));
    else
        put_rest(step, &today);
    return step;
}

/* The outcome of a difference. A recording does not have the bytes that were
 * sent. If the recorded terms give a request of the same hash, those are the
 * bytes; if not, the messages in the result are compared. Returns false. */
static bool replay_ask_tell(struct replay *replay,
                            const struct intent_source *source,
                            const struct replay_request *built, struct err *err)
{
    const struct record *record = source->record;
    const struct conversation *conversation = &replay->conversation;
    size_t count = json_array_size(conversation->messages);
    json_t *before = NULL;
    struct replay_request then = { 0 };
    struct today terms;
    bool loaded = today_load(&terms, replay->terms, &replay->job, WHEN_RECORDED,
                             NULL, err);
    if (loaded && build_same(&then, source, &terms.terms))
        before = built_body(&then);
    else if (replay->messages)
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
           err_set(err, ERR_REJECT, "bad_message",
                   "the journal does not say under which terms the model was "
                   "asked");
}

/* Puts the session's history into the conversation, if it is in the recording.
 */
static bool recall(struct replay *replay, const struct record *record,
                   struct err *err)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = recording_blob(replay->recording, record->history);
    struct history history;
    conversation_recall(&replay->conversation, NULL, (struct view){ 0 });
    return bytes.len == 0 ||
           memory_recall(&replay->conversation, bytes, record->history,
                         &history, &arena, err);
}

bool replay_check_intent(struct replay *replay, const struct record *record,
                         struct err *err)
{
    struct replay_outcome *outcome = replay->outcome;
    struct replay_request built = { 0 };
    struct intent_source source = { .replay = replay, .record = record };
    if (record->failed && record->last.len == 0)
        return true; /* the endpoint refused the request: from outside */
    if (!take_terms(replay, record, err) || !recall(replay, record, err))
        return false;
    source.unsaid = record->history.len > 0 &&
                    recording_blob(replay->recording, record->history).len == 0;
    bool same = build_same(&built, &source, &replay->today.terms) ||
                replay_ask_tell(replay, &source, &built, err);
    bool bare = source.unsaid || built.unseen;
    bool sent = same && !record->failed;
    outcome->requests += sent && !replay->today.hidden && !bare;
    outcome->hidden += sent && replay->today.hidden;
    outcome->bare += sent && !replay->today.hidden && bare;
    built_finish(&built);
    return same;
}
