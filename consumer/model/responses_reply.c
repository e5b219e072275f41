/* responses_reply.c - what an endpoint of OpenAI Responses says.
 *
 * Pieces are told as they come. An item that has ended comes once more, whole,
 * and so do all of them with the end: some endpoints send only one of the
 * three. What is missing of an item is added when it is whole. */
#include <string.h>

#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_json.h"
#include "consumer/model/responses.h"

static json_int_t index_of(const json_t *json)
{
    return json_integer_value(json_object_get(json, "output_index"));
}

/* --------------------------------------------------------------- items
 */

/* The texts of the parts of that type, one after the other. */
static void join_parts(struct buf *text, const json_t *parts, const char *type,
                       const char *member, const char *between)
{
    const json_t *part;
    size_t i;

    json_array_foreach(parts, i, part) {
        if (!view_is(reply_json_text(part, "type"), type))
            continue;
        if (text->len > 0)
            buf_add(text, view_of(between));
        buf_add(text, reply_json_text(part, member));
    }
}

/* What the pieces have left out of a text that is whole. */
static struct view rest_of(struct view whole, const struct buf *so_far,
                           size_t settled)
{
    size_t len = so_far->len - settled;

    if (len == 0)
        return whole;
    if (len > whole.len || memcmp(whole.data, so_far->data + settled, len) != 0)
        return VIEW("");
    return (struct view){ whole.data + len, whole.len - len };
}

static void settle_message(struct reply *reply, const json_t *item)
{
    const json_t *content = json_object_get(item, "content");
    CLEANUP(buf_finish) struct buf text;
    CLEANUP(buf_finish) struct buf refusal;

    buf_init(&text, REPLY_MAX_TEXT);
    buf_init(&refusal, REPLY_MAX_TEXT);
    join_parts(&text, content, "output_text", "text", "");
    join_parts(&refusal, content, "refusal", "refusal", "");
    reply_add_text(
        reply, rest_of(buf_view(&text), &reply->content, reply->text_settled));
    reply_add_refusal(reply, rest_of(buf_view(&refusal), &reply->refusal, 0));
    reply->text_settled = reply->content.len;
}

/* Its summary, or all of it where that is shown, is for people; the whole item
 * goes back. */
static void settle_reasoning(struct reply *reply, const json_t *item,
                             json_int_t index)
{
    json_t *kept = json_deep_copy(item), *value;
    CLEANUP(buf_finish) struct buf text;
    const char *name;
    void *next;

    buf_init(&text, REPLY_MAX_TEXT);
    join_parts(&text, json_object_get(item, "summary"), "summary_text", "text",
               "\n\n");
    if (text.len == 0)
        join_parts(&text, json_object_get(item, "content"), "reasoning_text",
                   "text", "");
    if (reply->reasoning.len == reply->reasoning_settled)
        reply_add_reasoning(reply, buf_view(&text));
    reply->reasoning_settled = reply->reasoning.len;
    json_object_del(kept, "status");
    json_object_foreach_safe(kept, next, name, value) if (json_is_null(value))
        json_object_del(kept, name);
    reply_blocks_fill(&reply->blocks, index, kept);
}

static void begin_call(struct reply *reply, const json_t *item,
                       json_int_t index)
{
    reply_blocks_call(&reply->blocks);
    reply_calls_begin(&reply->calls, index, reply_json_text(item, "call_id"),
                      reply_json_text(item, "name"));
    reply_calls_given(&reply->calls, index, reply_json_text(item, "arguments"));
}

static void settle_call(struct reply *reply, const json_t *item,
                        json_int_t index)
{
    if (!reply_calls_end(&reply->calls, index))
        begin_call(reply, item, index);
    reply_calls_given(&reply->calls, index, reply_json_text(item, "arguments"));
    reply_calls_end(&reply->calls, index);
}

static void settle_item(struct reply *reply, const json_t *item,
                        json_int_t index)
{
    struct view type = reply_json_text(item, "type");

    reply->items++;
    if (view_is(type, "message"))
        settle_message(reply, item);
    else if (view_is(type, "reasoning"))
        settle_reasoning(reply, item, index);
    else if (view_is(type, "function_call"))
        settle_call(reply, item, index);
}

/* The phase of a text is wanted back with it. */
static void begin_item(struct reply *reply, const json_t *item,
                       json_int_t index)
{
    json_t *phase = json_object_get(item, "phase");

    if (view_is(reply_json_text(item, "type"), "function_call"))
        begin_call(reply, item, index);
    else if (view_is(reply_json_text(item, "type"), "reasoning"))
        reply_blocks_place(&reply->blocks, index);
    else if (json_is_string(phase))
        reply_blocks_begin(&reply->blocks, json_pack("{s:O}", "phase", phase));
}

/* -------------------------------------------------------------- pieces
 */

static void part_of_summary(struct reply *reply, const json_t *json)
{
    if (json_integer_value(json_object_get(json, "summary_index")) > 0)
        reply_add_reasoning(reply, VIEW("\n\n"));
}

static void text_delta(struct reply *reply, const json_t *json)
{
    reply_add_text(reply, reply_json_text(json, "delta"));
}

static void reasoning_delta(struct reply *reply, const json_t *json)
{
    reply_add_reasoning(reply, reply_json_text(json, "delta"));
}

static void refusal_delta(struct reply *reply, const json_t *json)
{
    reply_add_refusal(reply, reply_json_text(json, "delta"));
}

static void arguments_delta(struct reply *reply, const json_t *json)
{
    reply_calls_more(&reply->calls, index_of(json),
                     reply_json_text(json, "delta"));
}

static void item_added(struct reply *reply, const json_t *json)
{
    begin_item(reply, json_object_get(json, "item"), index_of(json));
}

static void item_done(struct reply *reply, const json_t *json)
{
    settle_item(reply, json_object_get(json, "item"), index_of(json));
}

/* ------------------------------------------------------------- the end
 */

static void take_usage(struct reply *reply, const json_t *usage)
{
    const json_t *details;

    if (!json_is_object(usage))
        return;
    reply->usage.input_tokens = reply_tokens(usage, "input_tokens");
    reply->usage.output_tokens = reply_tokens(usage, "output_tokens");
    details = json_object_get(usage, "input_tokens_details");
    reply->usage.cached_tokens = reply_tokens(details, "cached_tokens");
    reply->usage.cache_write_tokens =
        reply_tokens(details, "cache_write_tokens");
}

static struct view reason_of(const struct reply *reply, const json_t *response)
{
    struct view status = reply_json_text(response, "status");
    struct view why = reply_json_text(
        json_object_get(response, "incomplete_details"), "reason");

    if (view_is(status, "cancelled"))
        return VIEW("error");
    if (!view_is(status, "incomplete"))
        return reply->calls.count > 0 ? VIEW("tool_calls") : VIEW("stop");
    return view_is(why, "content_filter") ? why : VIEW("length");
}

static void take_response(struct reply *reply, const json_t *response)
{
    const json_t *item, *output = json_object_get(response, "output");
    size_t i;

    if (view_is(reply_json_text(response, "status"), "failed")) {
        take_usage(reply, json_object_get(response, "usage"));
        reply_set_error(reply, response);
        reply->failed = true;
        return;
    }
    if (reply->items == 0)
        json_array_foreach(output, i, item) {
            if (reply->form == FORM_PLAIN)
                begin_item(reply, item, (json_int_t)i);
            settle_item(reply, item, (json_int_t)i);
        }
    take_usage(reply, json_object_get(response, "usage"));
    if (reply->max_tokens == 0) /* who fetches it does not know */
        reply->max_tokens = reply_tokens(response, "max_output_tokens");
    reply_set_finish(reply, reason_of(reply, response));
    reply->has_choice = true;
}

static void response_over(struct reply *reply, const json_t *json)
{
    take_response(reply, json_object_get(json, "response"));
    reply->done = true;
}

/* [DONE] without the event that says why it ended: what came decides. Nothing
 * is no reply. */
void responses_end(struct reply *reply)
{
    bool empty = reply->items == 0 && reply->content.len == 0 &&
                 reply->refusal.len == 0 && reply->calls.count == 0;

    if (!reply->done || reply->finish_reason.len > 0)
        return;
    if (empty)
        reply->done = false;
    else
        reply_set_finish(reply, reply->calls.count > 0 ? VIEW("tool_calls")
                                                       : VIEW("stop"));
}

/* Whether it is kept under its id, the request has said. */
static void response_begun(struct reply *reply, const json_t *json)
{
    reply_add_id(reply,
                 reply_json_text(json_object_get(json, "response"), "id"));
}

/* One that runs in the background is not over. */
static void take_plain(struct reply *reply, const json_t *json)
{
    struct view status = reply_json_text(json, "status");

    reply->unfinished =
        view_is(status, "queued") || view_is(status, "in_progress");
    if (reply->unfinished)
        reply_add_id(reply, reply_json_text(json, "id"));
    else if (json_is_array(json_object_get(json, "output")))
        take_response(reply, json);
}

bool responses_take(struct reply *reply, struct view event, const json_t *json)
{
    static const struct {
        const char *type;
        void (*take)(struct reply *reply, const json_t *json);
    } events[] = {
        { "response.output_text.delta", text_delta },
        { "response.function_call_arguments.delta", arguments_delta },
        { "response.reasoning_summary_text.delta", reasoning_delta },
        { "response.reasoning_text.delta", reasoning_delta },
        { "response.reasoning_summary_part.added", part_of_summary },
        { "response.refusal.delta", refusal_delta },
        { "response.output_item.added", item_added },
        { "response.output_item.done", item_done },
        { "response.created", response_begun },
        { "response.completed", response_over },
        { "response.incomplete", response_over },
        { "response.failed", response_over },
        { "response.cancelled", response_over },
        { "error", reply_set_error },
    };
    struct view type = reply_json_text(json, "type");

    if (reply->form == FORM_PLAIN) {
        take_plain(reply, json);
        return true;
    }
    if (type.len == 0)
        type = event;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (view_is(type, events[i].type))
            events[i].take(reply, json);
    reply->has_choice = reply->has_choice || view_starts(type, "response.");
    return !view_is(type, "keepalive") && !view_is(type, "ping");
}
