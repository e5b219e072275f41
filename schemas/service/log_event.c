/* log_event.c - the table of what is logged. */
#include "schemas/service/log_event.h"

#include <stdlib.h>
#include <string.h>

const char *const log_severity_names[] = { "error", "warning", "info", "debug",
                                           NULL };

const struct log_event log_events[] = {
    { "approval.asked", SEVERITY_INFO,
      "The job waits for a person to approve a call of {tool} "
      "({call})." },
    { "audit", SEVERITY_INFO, "{tenant}: {act} {name}: {outcome}." },
    { "beat.refused", SEVERITY_WARNING,
      "Redis's answer to the renewal of leases cannot be read: "
      "{why}." },
    { "box.failed", SEVERITY_WARNING, "A box could not be made: {text}." },
    { "box.unvisited", SEVERITY_WARNING,
      "A program could not run as the user of a box: {text}." },
    { "cell.done", SEVERITY_INFO, "In the session {who}, {text}." },
    { "claim.held", SEVERITY_WARNING,
      "The consumer takes no jobs: {why} ({reason}, {path}); "
      "{running} are running." },
    { "claim.lost", SEVERITY_WARNING,
      "An attempt to take jobs failed: {why}. The jobs, if any were"
      " taken, come back when their leases end." },
    { "claim.not_now", SEVERITY_WARNING,
      "Redis refuses to give jobs: {why}. The consumer asks again "
      "in {again_ms} ms." },
    { "claim.resumed", SEVERITY_INFO,
      "The executor at {path} answers: the consumer takes jobs "
      "again." },
    { "claim.stuck", SEVERITY_ERROR,
      "Redis answers, but no take of jobs has come to an end for "
      "too long; {running} are running. systemd will replace this "
      "consumer." },
    { "connection.refused", SEVERITY_WARNING,
      "A connection was refused: {text}." },
    { "drain", SEVERITY_INFO,
      "The program drains: it takes nothing new, and lets what runs"
      " go on for {ms} ms." },
    { "drain.release", SEVERITY_INFO,
      "The time to drain is over: {running} jobs go back to the "
      "queue." },
    { "drain.resumed", SEVERITY_INFO,
      "Operators have taken the drain of {name} back." },
    { "drain.wished", SEVERITY_INFO,
      "Operators have drained {name}; \"quern worker resume\" takes"
      " that back." },
    { "durability.late", SEVERITY_WARNING,
      "Writes wait to become durable: {why}." },
    { "durability.lost", SEVERITY_ERROR, "Writes may not be durable: {why}." },
    { "durability.reached", SEVERITY_INFO, "Writes become durable again." },
    { "endpoints.bad_wait", SEVERITY_WARNING,
      "Redis has a wait for the endpoint {model} that cannot be "
      "right; it was removed." },
    { "endpoints.refused", SEVERITY_WARNING,
      "What the fleet knows about endpoints cannot be read: {why}." },
    { "entry.dropped", SEVERITY_WARNING,
      "An entry of a queue is no job, and was dropped: {why}." },
    { "event.refused", SEVERITY_WARNING, "An event was left out: {why}." },
    { "events.failed", SEVERITY_WARNING,
      "A stream of events has ended: {why}." },
    { "executor", SEVERITY_DEBUG,
      "The connection to the executor at {path}: {state}." },
    { "executor.devices", SEVERITY_WARNING,
      "Boxes have the device files of the host: {text}." },
    { "executor.failed", SEVERITY_ERROR, "The executor ends: {text}." },
    { "executor.fewer", SEVERITY_WARNING, "{text}." },
    { "executor.lost", SEVERITY_WARNING,
      "The executor at {path} is away ({reason}): {why}." },
    { "executor.ready", SEVERITY_INFO,
      "The executor serves at {who}: {text}." },
    { "executor.refused", SEVERITY_WARNING,
      "The executor sent a frame ({frame}) that cannot be read: "
      "{why}." },
    { "exit", SEVERITY_INFO, "The program has ended." },
    { "fleet.refused", SEVERITY_ERROR,
      "Redis has facts about the fleet that cannot be used: {why}." },
    { "folder.left", SEVERITY_WARNING, "The folder {who} is left: {text}." },
    { "frame.refused", SEVERITY_WARNING, "A frame was refused: {text}." },
    { "grace.short", SEVERITY_WARNING,
      "A drain may take {needed_ms} ms, but this consumer is killed"
      " after {grace_ms}: lower --drain, or raise that time and "
      "--grace." },
    { "history.dropped", SEVERITY_WARNING,
      "The history of the session is left out of the request: {why}"
      " ({code})." },
    { "hook.delivered", SEVERITY_INFO,
      "The webhook {delivery} was delivered: HTTP {status}." },
    { "hook.ended", SEVERITY_WARNING,
      "The webhook {delivery} is given up: {why} (HTTP {status})." },
    { "hook.failed", SEVERITY_INFO,
      "The webhook {delivery} failed: {why} (HTTP {status}). It is "
      "tried again in {again_ms} ms." },
    { "hook.refused", SEVERITY_WARNING,
      "Redis refuses to give webhooks: {why}." },
    { "hook.unreadable", SEVERITY_WARNING, "A webhook cannot be read: {why}." },
    { "hook.unsettled", SEVERITY_WARNING,
      "What became of the webhook {delivery} could not be written: "
      "{why}. It will be delivered again." },
    { "job.finished", SEVERITY_INFO,
      "The job is {status} after {turns} turns and {ms} ms[: "
      "{why}]." },
    { "job.handed_back", SEVERITY_INFO,
      "The job goes back to the queue, for another consumer: {why}." },
    { "job.lost", SEVERITY_WARNING,
      "The lease of the job is lost: another consumer has it, as "
      "this one, or Redis, was too slow. Nothing more is written "
      "for it." },
    { "job.overdue", SEVERITY_ERROR,
      "A state of the job ({state}) has passed its limit." },
    { "job.parked", SEVERITY_INFO,
      "The job waits in its queue for {wait_ms} ms." },
    { "job.refused", SEVERITY_INFO, "The job cannot be run: {why} ({code})." },
    { "job.released", SEVERITY_INFO,
      "The job goes back to the queue, as the consumer drains." },
    { "job.retrying", SEVERITY_INFO,
      "A step failed: {why} ({code}). It is tried again in "
      "{wait_ms} ms." },
    { "job.started", SEVERITY_INFO,
      "The job begins: attempt {attempt}, {queued_ms} ms after the "
      "submit." },
    { "lapse.found", SEVERITY_WARNING,
      "{jobs} jobs of consumers that have gone are back in their "
      "queues: their leases had ended." },
    { "library.loaded", SEVERITY_INFO,
      "The functions of build {build} are loaded into Redis." },
    { "library.refused", SEVERITY_ERROR,
      "The functions cannot be loaded into Redis: {why}." },
    { "listening", SEVERITY_INFO,
      "The gateway listens at [{path}][{address}, port {port}]." },
    { "mcp.away", SEVERITY_WARNING,
      "The MCP server {server} is away: {why}. It is asked again in"
      " {wait_ms} ms." },
    { "mcp.changed", SEVERITY_INFO,
      "The tools of the MCP server {server} have changed: HUP lists"
      " them anew." },
    { "mcp.listed", SEVERITY_INFO,
      "The MCP server {server} offers {of} tools, of which {tools} "
      "are used." },
    { "mcp.tool_refused", SEVERITY_WARNING,
      "The tool {tool} of the MCP server {server} is not used: "
      "{why}." },
    { "mend.found", SEVERITY_WARNING,
      "{keys} keys of jobs that were cut off have been mended." },
    { "metrics", SEVERITY_INFO,
      "/metrics, /livez and /readyz are answered at {place}, port "
      "{port}." },
    { "metrics.refused", SEVERITY_WARNING,
      "The numbers of the {of} are not shown: {why}." },
    { "model.fallback", SEVERITY_WARNING,
      "The model {from} failed: {why}. The job goes on with {to}." },
    { "model.heard", SEVERITY_INFO,
      "Another consumer says that the model {model} has to be left "
      "alone for {wait_ms} ms." },
    { "model.retrieved", SEVERITY_INFO,
      "A reply of {model} that was paid for before is asked for: "
      "{reply}[: {why}]." },
    { "model.unnamed", SEVERITY_WARNING, "{text}." },
    { "models.loaded", SEVERITY_INFO, "{count} models are loaded." },
    { "models.refused", SEVERITY_ERROR,
      "The models were not loaded anew, the earlier ones stay: "
      "{why}." },
    { "packages.installed", SEVERITY_INFO,
      "Packages are installed in {who}: {text}." },
    { "packages.refused", SEVERITY_WARNING,
      "Packages cannot be installed in {who}: {text}." },
    { "packages.wheel", SEVERITY_INFO, "{text}." },
    { "pool.lost", SEVERITY_WARNING,
      "An interpreter made ahead ({who}) is lost: {text}." },
    { "proxy.connects", SEVERITY_INFO,
      "The session {who} reaches out: {text}." },
    { "proxy.cut", SEVERITY_INFO,
      "The way out of the session {who} is closed: {text}." },
    { "proxy.down", SEVERITY_ERROR,
      "The proxy for the network of boxes has ended: {text}." },
    { "proxy.failed", SEVERITY_ERROR, "The proxy ends: {text}." },
    { "proxy.refused", SEVERITY_INFO,
      "The session {who} was refused a way out: {text}" },
    { "quiet", SEVERITY_INFO,
      "The consumer takes no more jobs; {running} are running." },
    { "ready", SEVERITY_INFO, "The program serves." },
    { "redis.lost", SEVERITY_WARNING,
      "The connection to Redis is lost: {why}. It is made anew." },
    { "redis.not_now", SEVERITY_WARNING,
      "Redis refuses a write for now: {why}. It is tried again." },
    { "redis.switched", SEVERITY_INFO,
      "The master is {host}, port {port}, now." },
    { "redis.unsafe", SEVERITY_WARNING,
      "Redis may lose jobs ({check}): {why}[. {remedy}]." },
    { "redis.unseen", SEVERITY_INFO,
      "Whether Redis is set up safely cannot be seen: {why}." },
    { "redis.unsent", SEVERITY_WARNING, "Redis was not told: {of}: {why}." },
    { "response.failed", SEVERITY_WARNING,
      "A response cannot be read: {why}." },
    { "response.not_cancelled", SEVERITY_WARNING,
      "A job that its client has left could not be cancelled: "
      "{why}." },
    { "result.refused", SEVERITY_WARNING,
      "A part of the result was left out: {why}." },
    { "runner.failed", SEVERITY_WARNING, "A cell could not run: {text}." },
    { "runner.refused", SEVERITY_WARNING,
      "An interpreter sent a frame that cannot be read: {text}." },
    { "schedule.broken", SEVERITY_ERROR,
      "The schedule {schedule} cannot go off: {why}." },
    { "schedule.fired", SEVERITY_INFO,
      "The schedule {schedule} went off: the job is {job}." },
    { "schedule.refused", SEVERITY_WARNING,
      "The schedule {schedule} went off, but its job was refused: "
      "{why}." },
    { "session.again", SEVERITY_INFO,
      "The session {who} starts again: {text}." },
    { "session.at_exit", SEVERITY_INFO, "The session {who} ends: {text}." },
    { "session.deaf", SEVERITY_WARNING,
      "The session {who} does not take what it is sent: {text}." },
    { "session.ended", SEVERITY_INFO, "The session {who} has ended, {text}." },
    { "session.failed", SEVERITY_WARNING,
      "The session {who} is lost: {text}." },
    { "session.history_lost", SEVERITY_WARNING,
      "The earlier conversation of the session cannot be read: "
      "{why}." },
    { "session.hurried", SEVERITY_WARNING,
      "The session {who} is not waited for: {text}." },
    { "session.rolled_back", SEVERITY_INFO,
      "The session {who} goes on from its snapshot: {text}." },
    { "session.stuck", SEVERITY_WARNING,
      "The session {who} does not come to an end: {text}." },
    { "session.unparked", SEVERITY_WARNING, "The session {who} has {text}." },
    { "session.unsaved", SEVERITY_WARNING,
      "The session could not be saved: {why}." },
    { "settings.refused", SEVERITY_ERROR,
      "The settings were not read anew, the earlier ones stay: "
      "{why}{text}." },
    { "settings.reloaded", SEVERITY_INFO,
      "The settings were read anew[; {text}][; changed: "
      "{changed}][; a restart is needed for: {restart}]." },
    { "slots.fewer", SEVERITY_WARNING, "{text}." },
    { "spawn.failed", SEVERITY_ERROR,
      "The program {who} does not start: {text}." },
    { "state", SEVERITY_INFO,
      "{name}: {mode}, {running} of {slots} slots in use." },
    { "state.attempt", SEVERITY_INFO,
      "The job is in the state {state}, attempt {attempt}, turn "
      "{turn}." },
    { "sweep.found", SEVERITY_WARNING,
      "{jobs} jobs of consumers that have gone were found in "
      "{stream}, and are back in their queues." },
    { "systemd.unreachable", SEVERITY_WARNING,
      "systemd cannot be told: {why}." },
    { "tls.refused", SEVERITY_ERROR,
      "The certificate was not loaded anew, the earlier one stays: "
      "{why}." },
    { "tls.reloaded", SEVERITY_INFO,
      "The certificate is loaded anew[; {warning}]." },
    { "tls.warning", SEVERITY_WARNING, "The certificate: {why}." },
    { "tools.refused", SEVERITY_ERROR,
      "The tools were not loaded anew, the earlier ones stay: "
      "{why}." },
    { "traces.lost", SEVERITY_WARNING,
      "Of the spans of traces, {dropped} were dropped and {refused} refused, "
      "{sent} were sent: {why}." },
    { "traces.on", SEVERITY_INFO,
      "Traces go to {to}: the share {sample} of all jobs." },
    { "upkeep.refused", SEVERITY_WARNING, "Redis refuses a chore: {why}." },
    { "zygote.down", SEVERITY_WARNING,
      "The interpreter that others are forked from ({who}) has "
      "ended: {text}." },
    { "zygote.up", SEVERITY_INFO,
      "The interpreter that others are forked from ({who}) is "
      "loaded: {text}." },
};

const size_t log_event_count = sizeof(log_events) / sizeof(log_events[0]);

/* How often an event was written in the present span of time. */
struct log_span {
    uint64_t since_ms;
    uint64_t lines, left_out;
};

static enum log_severity severity_least = SEVERITY_INFO;
static uint64_t severity_lines[SEVERITY_DEBUG + 1];
static struct log_span spans[sizeof(log_events) / sizeof(log_events[0])];

void log_set_least(enum log_severity least)
{
    severity_least = least;
}

uint64_t log_lines(enum log_severity severity)
{
    return severity_lines[severity];
}

bool log_event_is_due(const struct log_event *event, uint64_t now_ms,
                      uint64_t *left_out)
{
    struct log_span *span = &spans[event - log_events];
    *left_out = 0;
    if (event->severity > severity_least)
        return false;
    if (event->severity <= SEVERITY_WARNING) {
        if (now_ms - span->since_ms >= LOG_SPAN_MS) {
            *left_out = span->left_out;
            *span = (struct log_span){ .since_ms = now_ms };
        }
        if (span->lines >= LOG_MOST) {
            span->left_out++;
            return false;
        }
        span->lines++;
    }
    severity_lines[event->severity]++;
    return true;
}

static int compare(const void *what, const void *event)
{
    return strcmp(what, ((const struct log_event *)event)->what);
}

const struct log_event *log_event_find(const char *what)
{
    return bsearch(what, log_events, log_event_count, sizeof(log_events[0]),
                   compare);
}

/* Writes the part that ends at one of the bytes of ends; text is behind it
 * then. False: a member of it is missing or empty. */
static bool say_part(const char **text, const char *ends, struct buf *out,
                     log_member *member, const void *owner)
{
    bool is_whole = true;
    while (**text != '\0' && !strchr(ends, **text)) {
        char name[32];
        size_t len = strcspn(*text + 1, "}");
        if (**text == '[') {
            size_t before = out->len;
            ++*text;
            if (!say_part(text, "]", out, member, owner))
                buf_truncate(out, before);
            if (**text == '\0')
                return is_whole;
        } else if (**text == '{' && len < sizeof(name)) {
            size_t before = out->len;
            memcpy(name, *text + 1, len);
            name[len] = '\0';
            is_whole =
                member(owner, name, out) && out->len > before && is_whole;
            *text += len + 1;
        } else {
            buf_append(out, *text, 1);
        }
        ++*text;
    }
    return is_whole;
}

void log_event_say(const struct log_event *event, struct buf *out,
                   log_member *member, const void *owner)
{
    const char *text = event->sentence;
    say_part(&text, "", out, member, owner);
}
