/* spans.c - what an attempt and its activities do, told as spans. */
#include "consumer/job/spans.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "consumer/job/attempt.h"
#include "consumer/trace/content.h"

/* ----------------------------------------------------------------- attempt */

static const struct job_trace *trace_of(const struct attempt *attempt)
{
    return &attempt->spans.trace;
}

void spans_begin(struct attempt *attempt)
{
    struct attempt_spans *spans = &attempt->spans;
    job_trace_init(&spans->trace, tracer_out(attempt->consumer->tracer),
                   view_of(attempt->origin.id));
    span_begin(&spans->trace, &spans->attempt, 0);
    span_digits(&spans->trace, &spans->attempt, spans->digits);
}

void spans_journal(struct attempt *attempt)
{
    attempt->spans.former = strtoull(attempt->conversation.span, NULL, 16);
}

static struct view partition_of(const struct attempt *attempt, char text[16])
{
    snprintf(text, 16, "%u", attempt->partition->number);
    return view_of(text);
}

static void tell_job(const struct attempt *attempt, struct span_out *out)
{
    static const char *const kinds[] = { "conversation", "code", "session" };
    const struct facts *facts = &attempt->origin.facts;
    char partition[16];
    span_text(out, KEY_MESSAGING_SYSTEM, VIEW("quern"));
    span_text(out, KEY_MESSAGING_OPERATION, VIEW(OPERATION_PROCESS));
    span_text(out, KEY_MESSAGING_OPERATION_TYPE, VIEW(OPERATION_PROCESS));
    span_text(out, KEY_MESSAGING_DESTINATION, facts->queue);
    span_text(out, KEY_MESSAGING_PARTITION, partition_of(attempt, partition));
    span_text(out, KEY_MESSAGING_MESSAGE, view_of(attempt->origin.id));
    span_text(out, KEY_TENANT, facts->tenant);
    span_text(out, KEY_CONVERSATION, facts->session);
    span_whole(out, KEY_JOB_ATTEMPT, attempt->origin.number);
    if (attempt->known)
        span_text(out, KEY_JOB_KIND, view_of(kinds[attempt->job.kind]));
}

void spans_end(struct attempt *attempt)
{
    struct attempt_spans *spans = &attempt->spans;
    const struct err *why = &attempt->ending.why;
    const struct trace producer = job_trace(&attempt->job);
    struct span_out *out =
        span_write(&spans->trace, &spans->attempt, SPAN_CONSUMER,
                   VIEW(OPERATION_PROCESS), attempt->origin.facts.queue);
    if (!out)
        return;
    tell_job(attempt, out);
    span_text(out, KEY_JOB_OUTCOME,
              view_of(spans->outcome ? spans->outcome : "lost"));
    if (!spans->outcome)
        span_fail(out, VIEW("lost"), VIEW(""));
    else if (attempt->ending.status == STATE_FAILED)
        span_fail(out, view_of(why->code), view_of(why->text));
    if (attempt->known && producer.parent.len > 0)
        span_link_foreign(out, &producer);
    if (spans->former != 0)
        span_link_own(out, spans->former);
    span_finish(out);
}

/* ------------------------------------------------------------------- turns */

void spans_turn_end(struct attempt *attempt)
{
    struct attempt_spans *spans = &attempt->spans;
    struct span_out *out =
        span_write(&spans->trace, &spans->turn, SPAN_INTERNAL,
                   VIEW(OPERATION_AGENT), VIEW(""));
    if (!out)
        return;
    span_text(out, KEY_OPERATION, VIEW(OPERATION_AGENT));
    span_text(out, KEY_CONVERSATION, attempt->origin.facts.session);
    span_whole(out, KEY_TURN, spans->turn_number);
    span_finish(out);
}

void spans_turn(struct attempt *attempt)
{
    struct attempt_spans *spans = &attempt->spans;
    spans_turn_end(attempt);
    span_begin(&spans->trace, &spans->turn, spans->attempt.id);
    spans->turn_number = attempt->conversation.turn + 1;
}

uint64_t spans_parent(struct attempt *attempt)
{
    struct attempt_spans *spans = &attempt->spans;
    if (attempt->job.kind != JOB_CONVERSATION)
        return spans->attempt.id;
    if (spans->turn.id == 0) {
        spans_turn(attempt);
        spans->turn_number = attempt->conversation.turn;
    }
    return spans->turn.id;
}

/* -------------------------------------------------------------------- work */

void spans_prepare(const struct attempt *attempt, struct work_span *work,
                   uint64_t parent)
{
    span_begin(trace_of(attempt), &work->span, parent);
    work->span.began_ns = 0;
    work->first_ns = 0;
}

void spans_start(struct work_span *work)
{
    if (work->span.id != 0)
        work->span.began_ns = uv_hrtime();
}

struct trace spans_trace(const struct attempt *attempt, struct work_span *work)
{
    const struct attempt_spans *spans = &attempt->spans;
    const struct trace job = job_trace(&attempt->job);
    const struct span *around =
        spans->turn.id != 0 ? &spans->turn : &spans->attempt;
    struct trace ours = { .exact = true };
    if (job.parent.len == 0)
        return job;
    ours.parent = span_header(
        &spans->trace, work->span.id != 0 ? &work->span : around, work->header);
    return ours.parent.len > 0 ? ours : job;
}

const struct err *spans_given_up(const struct attempt *attempt)
{
    static const struct err reasons[] = {
        [STOP_NONE] = { ERR_RETRY, "given_up", "" },
        [STOP_RELEASE] = { ERR_RETRY, "released", "" },
        [STOP_DEADLINE] = { ERR_RETRY, "deadline_exceeded", "" },
        [STOP_CANCEL] = { ERR_RETRY, "cancelled", "" },
        [STOP_FAULT] = { ERR_RETRY, "given_up", "" },
        [STOP_LOST] = { ERR_RETRY, "lost", "" },
    };
    return &reasons[attempt->stop];
}

static void tell_failure(struct span_out *out, const struct err *why)
{
    if (why && why->kind != ERR_NONE)
        span_fail(out, view_of(why->code), view_of(why->text));
}

/* ------------------------------------------------------------------- models */

/* Who speaks that dialect; the conventions say the same of servers that only
 * speak it. */
static struct view provider_of(const struct model_endpoint *endpoint)
{
    return endpoint->dialect == &dialect_anthropic ? VIEW("anthropic")
                                                   : VIEW("openai");
}

/* The host of an URL, and its port; 0: by the scheme. */
static struct view host_of(const char *url, uint64_t *port)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t end = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', end);
    size_t skip = at ? (size_t)(at + 1 - host) : 0;
    struct view place = { host + skip, end - skip };
    size_t in_brackets = strcspn(place.data, "]/");
    bool six = place.len > 0 && *place.data == '[' && in_brackets < place.len;
    size_t from = six ? in_brackets : 0;
    const char *colon = memchr(place.data + from, ':', place.len - from);
    *port = colon ? strtoull(colon + 1, NULL, 10) : 0;
    size_t len = colon ? (size_t)(colon - place.data) : place.len;
    return six ? (struct view){ place.data + 1, in_brackets - 1 }
               : (struct view){ place.data, len };
}

static void tell_endpoint(struct span_out *out,
                          const struct model_endpoint *endpoint)
{
    uint64_t port;
    struct view host = host_of(endpoint->url, &port);
    if (port == 0)
        port = strncasecmp(endpoint->url, "https:", 6) == 0 ? 443 : 80;
    span_text(out, KEY_PROVIDER, provider_of(endpoint));
    span_text(out, KEY_REQUEST_MODEL, view_of(endpoint->model));
    span_text(out, KEY_ENDPOINT, view_of(endpoint->name));
    span_text(out, KEY_SERVER_ADDRESS, host);
    span_whole(out, KEY_SERVER_PORT, port);
}

static void tell_usage(struct span_out *out, const struct usage *usage)
{
    if (usage->input_tokens > 0 || usage->output_tokens > 0) {
        span_whole(out, KEY_INPUT_TOKENS, usage->input_tokens);
        span_whole(out, KEY_OUTPUT_TOKENS, usage->output_tokens);
    }
    if (usage->cached_tokens > 0)
        span_whole(out, KEY_CACHE_READ_TOKENS, usage->cached_tokens);
    if (usage->cache_write_tokens > 0)
        span_whole(out, KEY_CACHE_WRITE_TOKENS, usage->cache_write_tokens);
    if (usage->cost > 0)
        span_whole(out, KEY_COST, usage->cost);
}

void spans_first(struct work_span *work)
{
    if (work->first_ns == 0 && work->span.id != 0)
        work->first_ns = uv_hrtime();
}

static void tell_reply(struct span_out *out, const struct work_span *work,
                       uint64_t began_ns, const struct chat_told *told)
{
    span_text(out, KEY_FINISH_REASONS, told->finish_reason);
    if (work->first_ns > began_ns)
        span_seconds(out, KEY_FIRST_CHUNK, work->first_ns - began_ns);
    if (told->usage && !told->fetched)
        tell_usage(out, told->usage);
    if (told->summary)
        span_flag(out, KEY_SUMMARY);
    if (told->http_status > 0)
        span_whole(out, KEY_HTTP_STATUS, told->http_status);
}

static void tell_messages(struct span_out *out, const struct work_span *work,
                          const struct chat_told *told)
{
    CLEANUP(buf_finish) struct buf said = { 0 };
    if (!out->content)
        return;
    span_content(out, KEY_INPUT_MESSAGES, buf_view(&work->messages));
    if (!told->message)
        return;
    content_write_reply(&said, told->message, told->finish_reason);
    span_content(out, KEY_OUTPUT_MESSAGES, buf_view(&said));
}

void spans_messages(const struct attempt *attempt, struct work_span *work,
                    const json_t *messages)
{
    buf_finish(&work->messages);
    if (job_trace_has_content(trace_of(attempt)))
        content_write_messages(&work->messages, messages);
}

void spans_chat(const struct attempt *attempt, struct work_span *work,
                const struct chat_told *told)
{
    const struct model_endpoint *endpoint = told->endpoint;
    struct view operation =
        told->fetched ? VIEW(OPERATION_FETCH) : VIEW(OPERATION_CHAT);
    uint64_t began_ns = work->span.began_ns;
    struct span_out *out =
        span_write(trace_of(attempt), &work->span, SPAN_CLIENT, operation,
                   view_of(endpoint->model));
    if (out) {
        span_text(out, KEY_OPERATION, operation);
        span_text(out, KEY_CONVERSATION, attempt->origin.facts.session);
        tell_endpoint(out, endpoint);
        tell_reply(out, work, began_ns, told);
        tell_messages(out, work, told);
        tell_failure(out, told->why);
        span_finish(out);
    }
    buf_finish(&work->messages);
}

/* -------------------------------------------------------------------- tools */

void spans_tool(const struct attempt *attempt, struct work_span *work,
                const struct tool_told *told)
{
    struct view name = told->name.len > 0 ? told->name : VIEW(TRACE_OTHER);
    struct span_out *out =
        span_write(trace_of(attempt), &work->span, SPAN_INTERNAL,
                   VIEW(OPERATION_TOOL), name);
    if (!out)
        return;
    span_text(out, KEY_OPERATION, VIEW(OPERATION_TOOL));
    span_text(out, KEY_TOOL_NAME, name);
    span_text(out, KEY_TOOL_TYPE, VIEW("function"));
    span_text(out, KEY_TOOL_CALL, told->call);
    span_content(out, KEY_TOOL_ARGUMENTS, told->arguments);
    span_content(out, KEY_TOOL_RESULT, told->result);
    if (told->failure.len > 0)
        span_fail(out, told->failure, VIEW(""));
    span_finish(out);
}

void spans_cell(const struct attempt *attempt, struct work_span *work,
                const struct cell *cell, const struct err *why)
{
    struct span_out *out = span_write(trace_of(attempt), &work->span,
                                      SPAN_INTERNAL, VIEW(SPAN_CELL), VIEW(""));
    if (!out)
        return;
    if (cell) {
        struct view outcome = view_of(cell_status_names[cell->status]);
        span_text(out, KEY_CELL_OUTCOME, outcome);
        span_text(out, KEY_CELL_STATE, view_of(cell_state_names[cell->state]));
        if (cell->peak_bytes > 0)
            span_whole(out, KEY_CELL_PEAK, cell->peak_bytes);
        if (cell->status != CELL_OK && cell->status != CELL_EXIT)
            span_fail(out, outcome, VIEW(""));
    }
    tell_failure(out, why);
    span_finish(out);
}
