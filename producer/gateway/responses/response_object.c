/* response_object.c - the response object of OpenAI's Responses API. */
#include "producer/gateway/responses/response_object.h"

#include <stdio.h>
#include <string.h>

#include "schemas/message/buf.h"

/* --------------------------------------------------------------------- ids */

static const char RESPONSE_PREFIX[] = "resp_";

void response_id_write(char id[RESPONSE_ID_BYTES], struct view job)
{
    size_t len = sizeof(RESPONSE_PREFIX) - 1;

    memcpy(id, RESPONSE_PREFIX, len);
    for (size_t i = 0; i < job.len && len + 1 < RESPONSE_ID_BYTES; i++)
        if (job.data[i] != '-')
            id[len++] = job.data[i];
    id[len] = '\0';
}

/* 8-4-4-4-12 */
bool response_id_read(struct view id, char job[37])
{
    static const int dashes[] = { 8, 12, 16, 20 };
    size_t skip = sizeof(RESPONSE_PREFIX) - 1, at = 0, dash = 0;

    if (!view_starts(id, RESPONSE_PREFIX) || id.len != skip + 32)
        return false;
    for (int i = 0; i < 32; i++) {
        if (dash < 4 && i == dashes[dash]) {
            job[at++] = '-';
            dash++;
        }
        job[at] = id.data[skip + (size_t)i];
        if (!strchr("0123456789abcdef", job[at]) || job[at] == '\0')
            return false;
        at++;
    }
    job[at] = '\0';
    return true;
}

/* ------------------------------------------------------------ how it stands */

/* The API has no word for a job that waits for its next try, or for a person:
 * it goes on. */
static const char *response_status(int state)
{
    switch (state) {
    case STATE_SCHEDULED:
    case STATE_QUEUED:
        return "queued";
    case STATE_COMPLETED:
        return "completed";
    case STATE_INCOMPLETE:
        return "incomplete";
    case STATE_FAILED:
        return "failed";
    case STATE_CANCELLED:
        return "cancelled";
    default:
        return "in_progress";
    }
}

int response_end(const struct response_state *state)
{
    return state->state == STATE_FAILED &&
                   view_is(state->error_code, "model_refused")
               ? STATE_INCOMPLETE
               : state->state;
}

/* The endpoint has refused quern itself: its key, or its quota. The sentence of
 * the consumer has the status; the endpoint's own words may have parts of a
 * key.
 */
static bool is_of_operator(const struct response_state *state)
{
    static const char *const statuses[] = { ": HTTP 401", ": HTTP 402",
                                            ": HTTP 403", ": HTTP 407",
                                            ": HTTP 429" };
    struct view said = state->error_message;

    if (!view_is(state->error_code, "model_rejected"))
        return false;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        if (said.len > 0 &&
            memmem(said.data, said.len, statuses[i], strlen(statuses[i])))
            return true;
    return false;
}

/* Words that clients know. A reader in a client takes server_error for a fault
 * that may pass, and sends the request again: so what another request would not
 * change is invalid_prompt. */
static const char *error_word(const struct response_state *state)
{
    if (view_is(state->error_code, "tenant_budget") ||
        view_is(state->error_code, "queue_full"))
        return "rate_limit_exceeded";
    return view_is(state->error_kind, "reject") && !is_of_operator(state)
               ? "invalid_prompt"
               : "server_error";
}

static json_t *error_of(const struct response_state *state)
{
    CLEANUP(buf_finish) struct buf text = { .max = 4096 };

    if (response_end(state) != STATE_FAILED)
        return json_null();
    if (is_of_operator(state))
        buf_printf(&text, "model_rejected: the model's endpoint refuses this "
                          "service; your request is not the reason");
    else
        buf_printf(&text, "%.*s: %.*s", VIEW_ARG(state->error_code),
                   VIEW_ARG(view_head(state->error_message, 3000)));
    return json_pack("{s:s, s:s, s:s%}", "type", error_word(state), "code",
                     error_word(state), "message", text.data ? text.data : "",
                     text.len);
}

/* The document has two words. A cancelled stream has none of its own, and one
 * client takes a missing word for a good end. */
static json_t *incomplete_of(const struct response_state *state)
{
    const char *word = "max_output_tokens";

    if (state->state == STATE_CANCELLED)
        return json_pack("{s:s}", "reason", "cancelled");
    if (response_end(state) != STATE_INCOMPLETE)
        return json_null();
    if (view_is(state->error_code, "model_refused"))
        word = "content_filter";
    return json_pack("{s:s}", "reason", word);
}

static json_t *usage_of(const struct usage *usage)
{
    json_int_t input, output;

    if (!usage)
        return json_null();
    input = (json_int_t)usage->input_tokens;
    output = (json_int_t)usage->output_tokens;
    return json_pack("{s:I, s:{s:I, s:I}, s:I, s:{s:i}, s:I}", "input_tokens",
                     input, "input_tokens_details", "cached_tokens",
                     (json_int_t)usage->cached_tokens, "cache_write_tokens",
                     (json_int_t)usage->cache_write_tokens, "output_tokens",
                     output, "output_tokens_details", "reasoning_tokens", 0,
                     "total_tokens", input + output);
}

/* What is said of a request that asked nothing of it: made once, for all. */
static json_t *response_defaults(void)
{
    static json_t *defaults;

    if (!defaults)
        defaults = json_pack(
            "{s:n, s:n, s:n, s:s, s:b, s:n, s:{s:n, s:n}, s:s, s:b, s:f, "
            "s:{s:{s:s}}, s:s, s:[], s:i, s:f, s:s, s:n, s:{}, s:n, s:f, s:f}",
            "instructions", "max_output_tokens", "max_tool_calls", "model",
            "default", "parallel_tool_calls", 1, "previous_response_id",
            "reasoning", "effort", "summary", "service_tier", "default",
            "store", 1, "temperature", 1.0, "text", "format", "type", "text",
            "tool_choice", "auto", "tools", "top_logprobs", 0, "top_p", 1.0,
            "truncation", "disabled", "user", "metadata", "conversation",
            "presence_penalty", 0.0, "frequency_penalty", 0.0);
    return defaults;
}

json_t *response_object(const struct wire_job *job,
                        const struct response_state *state)
{
    char id[RESPONSE_ID_BYTES];
    json_t *object;

    response_id_write(id, job->id);
    object = json_pack(
        "{s:s, s:s, s:I, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "id", id,
        "object", "response", "created_at", (json_int_t)job->created_at,
        "status", response_status(response_end(state)), "background",
        (int)job->background, "completed_at",
        state->state == STATE_COMPLETED
            ? json_integer((json_int_t)(state->finished_at / 1000))
            : json_null(),
        "error", error_of(state), "incomplete_details", incomplete_of(state),
        "output", state->output ? state->output : json_array(), "usage",
        usage_of(state->usage));
    if (job->asked)
        json_object_update_missing(object, job->asked);
    json_object_update_missing(object, response_defaults());
    return object;
}

/* ------------------------------------------------------------ from a result */

static void add_logs(struct buf *text, struct view more)
{
    if (text->len > 0 && more.len > 0 && text->data[text->len - 1] != '\n')
        buf_add(text, VIEW("\n"));
    buf_add(text, more);
}

void response_add_logs(struct buf *text, const struct cell *cell)
{
    add_logs(text, cell->out);
    add_logs(text, cell->errout);
    add_logs(text, cell->result);
    add_logs(text, cell->error.traceback);
}

/* cell: NULL: the code was not run; number: of the cell, from 1. */
static json_t *outputs_of(const struct wire_job *job,
                          const struct result *result, const struct cell *cell,
                          uint64_t number)
{
    CLEANUP(buf_finish) struct buf text = { .max = RESPONSE_MAX_LOGS };
    const struct image_ref *images = result->images.items;
    json_t *outputs;

    if (cell)
        response_add_logs(&text, cell);
    outputs = wire_outputs(job, buf_view(&text));
    for (size_t i = 0; i < result->images.count; i++)
        if (images[i].from_cell + 1 == number)
            wire_add_image(job, outputs, images[i].name);
    return outputs;
}

static json_t *code_item(const struct wire_job *job,
                         const struct result *result,
                         const struct result_item *item)
{
    const struct cell *cells = result->cells.items;
    const struct cell *cell =
        item->cell > 0 && item->cell <= result->cells.count
            ? &cells[item->cell - 1]
            : NULL;
    const char *status = "failed"; /* it was not run */

    if (cell)
        status = wire_code_status(view_of(cell_status_names[cell->status]));
    return wire_code(job, item->number, status, cell ? cell->code : VIEW(""),
                     outputs_of(job, result, cell, item->cell));
}

static json_t *function_item(const struct wire_job *job,
                             const struct result *result,
                             const struct result_item *item)
{
    const struct result_call *calls = result->calls.items;

    for (size_t i = 0; i < result->calls.count; i++)
        if (view_equal(calls[i].call_id, item->call))
            return wire_function(job, item->number, "completed", item->call,
                                 calls[i].name, calls[i].arguments);
    return NULL;
}

/* Cites the files and images of a cell. */
static void cite_cell(const struct wire_job *job, const struct result *result,
                      uint64_t cell, struct view text, json_t *annotations)
{
    const struct image_ref *images = result->images.items;
    const struct cell *cells = result->cells.items;
    const struct cell_file *files;

    for (size_t i = 0; i < result->images.count; i++)
        if (images[i].from_cell + 1 == cell)
            json_array_append_new(annotations,
                                  wire_citation(job, text, images[i].name));
    if (cell == 0 || cell > result->cells.count)
        return;
    files = cells[cell - 1].files.items;
    for (size_t i = 0; i < cells[cell - 1].files.count; i++)
        if (files[i].change != FILE_DELETED && files[i].blob.len > 0)
            json_array_append_new(annotations,
                                  wire_citation(job, text, files[i].name));
}

/* A message cites what cells have left since the message before it. */
static json_t *citations(const struct wire_job *job,
                         const struct result *result, size_t message,
                         struct view text)
{
    const struct result_item *items = result->items.items;
    json_t *annotations = json_array();
    size_t first = message;

    while (first > 0 && items[first - 1].kind != ITEM_MESSAGE)
        first--;
    for (size_t i = first; i < message; i++)
        if (items[i].kind == ITEM_CODE)
            cite_cell(job, result, items[i].cell, text, annotations);
    return annotations;
}

/* Only the last message of a job can have been cut off. */
static const char *message_status(const struct result *result, size_t at)
{
    return result->status != STATE_COMPLETED && at + 1 == result->items.count
               ? "incomplete"
               : "completed";
}

json_t *response_output(const struct wire_job *job, const struct result *result)
{
    const struct result_item *items = result->items.items;
    json_t *output = json_array(), *item;
    bool wants_json = wire_wants_json(job);

    for (size_t i = 0; i < result->items.count; i++) {
        struct view text =
            items[i].text.len > 0 ? items[i].text : result->answer;

        item = NULL;
        if (wants_json && items[i].kind == ITEM_MESSAGE &&
            i + 1 < result->items.count)
            continue; /* it did not fit, or was said before a call */
        switch ((enum item_kind)items[i].kind) {
        case ITEM_MESSAGE:
            item = wire_message(job, items[i].number, message_status(result, i),
                                text, citations(job, result, i, text));
            break;
        case ITEM_REASONING:
            item = wire_reasoning(job, items[i].number, VIEW(""));
            break;
        case ITEM_FUNCTION:
            item = function_item(job, result, &items[i]);
            break;
        case ITEM_CODE:
            item = code_item(job, result, &items[i]);
            break;
        case ITEM_SEARCH:
            item =
                wire_search(job, items[i].number, "completed", items[i].text);
            break;
        }
        if (item)
            json_array_append_new(output, item);
    }
    return output;
}

json_t *response_of_result(const struct wire_job *job,
                           const struct result *result, uint64_t finished_at)
{
    const struct response_state state = {
        .state = result->status,
        .finished_at = finished_at,
        .error_kind = result->error.kind,
        .error_code = result->error.code,
        .error_message = result->error.message,
        .usage = &result->usage,
        .output = response_output(job, result),
    };

    return response_object(job, &state);
}
