/* explain.c - quern_explain(): the facts of a job, which Redis collects in one
 * step, and sentences made from them that say why the job is where it is. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/fleet.h"
#include "schemas/redis/listing.h"

static struct view explain_text_of(const struct quern_explanation *job,
                                   const char *name)
{
    for (size_t i = 0; i < job->count; i++)
        if (strcmp(job->items[i].name, name) == 0)
            return view_of(job->items[i].text);
    return (struct view){ 0 };
}

static const char *word_of(const struct quern_explanation *job,
                           const char *name)
{
    struct view text = explain_text_of(job, name);

    return text.len > 0 ? text.data : "";
}

static uint64_t explain_number_of(const struct quern_explanation *job,
                                  const char *name)
{
    return strtoull(word_of(job, name), NULL, 10);
}

static bool is(const struct quern_explanation *job, const char *name,
               const char *word)
{
    return strcmp(word_of(job, name), word) == 0;
}

/* Adds a sentence, as far as there is room. */
__attribute__((format(printf, 2, 3))) static void
add_why(struct quern_explanation *job, const char *format, ...)
{
    size_t len = strlen(job->why), room = sizeof(job->why) - len;
    va_list args;
    int more = 0;

    if (len > 0)
        more = snprintf(job->why + len, room, "; ");
    if (more < 0 || (size_t)more >= room)
        return;
    va_start(args, format);
    vsnprintf(job->why + len + more, room - (size_t)more, format, args);
    va_end(args);
}

struct time_text {
    char text[64];
};

/* 2026-11-23 18:04:05 UTC, in 90 s. */
static struct time_text when_of(uint64_t at, uint64_t now)
{
    time_t seconds = (time_t)(at / 1000);
    uint64_t apart = (at > now ? at - now : now - at) / 1000;
    struct time_text when;
    struct tm tm;
    size_t len;

    if (!gmtime_r(&seconds, &tm))
        memset(&tm, 0, sizeof(tm));
    len = strftime(when.text, sizeof(when.text), "%Y-%m-%d %H:%M:%S UTC", &tm);
    snprintf(when.text + len, sizeof(when.text) - len,
             at > now ? " (in %" PRIu64 " s)" : " (%" PRIu64 " s ago)", apart);
    return when;
}

static struct time_text when_is(const struct quern_explanation *job,
                                const char *name)
{
    return when_of(explain_number_of(job, name), explain_number_of(job, "now"));
}

/* --- what holds it up ------------------------------------------------------
 */

static bool is_served(const struct quern_explanation *job)
{
    return explain_number_of(job, "served_by") > 0;
}

/* When no consumer takes jobs of its queue: that, and why. */
static void say_unserved(struct quern_explanation *job)
{
    uint64_t away = explain_number_of(job, "servers_away");
    uint64_t leaving = explain_number_of(job, "servers_leaving");

    if (is_served(job))
        return;
    add_why(job, "no consumer serves queue %s", word_of(job, "queue"));
    if (away > 0)
        add_why(job,
                "of its consumers %" PRIu64
                " cannot reach %s executor: quern worker ls",
                away, away == 1 ? "its" : "their");
    if (leaving > 0)
        add_why(job,
                "of its consumers %" PRIu64
                " take%s no more jobs: quern worker ls",
                leaving, leaving == 1 ? "s" : "");
}

/* What keeps any job that has not started: a pause, no consumers. */
static void say_queue(struct quern_explanation *job)
{
    if (explain_number_of(job, "paused") == 1)
        add_why(job, "queue %s is paused: quern queue resume %s",
                word_of(job, "queue"), word_of(job, "queue"));
    say_unserved(job);
}

/* It is in a stream: no limit holds it up, only jobs before it. */
static void say_stream(struct quern_explanation *job)
{
    uint64_t ahead = explain_number_of(job, "stream_ahead");
    bool held = explain_number_of(job, "paused") == 1 || !is_served(job);

    if (!held)
        add_why(job, "it may start as soon as a consumer has room");
    if (ahead == 0)
        add_why(job, "it is the next of its priority");
    else
        add_why(job, "%" PRIu64 " job%s before it", ahead,
                ahead == 1 ? " is" : "s are");
}

static void say_line(struct quern_explanation *job)
{
    uint64_t ahead = explain_number_of(job, "line_ahead");

    add_why(job,
            "it waits for its session %s behind job %s (%s), %" PRIu64
            " job%s before it",
            word_of(job, "session"), word_of(job, "line_first"),
            word_of(job, "line_first_state"), ahead,
            ahead == 1 ? " is" : "s are");
}

static void say_limits(struct quern_explanation *job)
{
    uint64_t limit = explain_number_of(job, "tenant_running_limit");
    uint64_t running = explain_number_of(job, "tenant_running");

    if (limit > 0 && running >= limit)
        add_why(job, "tenant %s runs %" PRIu64 " of %" PRIu64 " jobs at once",
                word_of(job, "tenant"), running, limit);
    if (explain_number_of(job, "rate_at") > 0)
        add_why(job, "the rate of tenant %s lets the next job start at %s",
                word_of(job, "tenant"), when_is(job, "rate_at").text);
}

static void say_queued(struct quern_explanation *job)
{
    uint64_t place = explain_number_of(job, "lane_place");

    say_queue(job);
    if (explain_number_of(job, "line_ahead") > 0) {
        say_line(job);
        return;
    }
    say_limits(job);
    if (place > 0)
        add_why(job,
                "place %" PRIu64 " of %" PRIu64 " in the lane of tenant %s",
                place, explain_number_of(job, "lane_length"),
                word_of(job, "tenant"));
    else if (explain_text_of(job, "stream_ahead").len > 0)
        say_stream(job);
}

static void say_approval(struct quern_explanation *job)
{
    const char *call = word_of(job, "approval_call");
    bool skips = is(job, "approval_default", "skip");

    add_why(job, "it waits for approval%s%s: quern approve ID",
            *call ? " of call " : "", call);
    if (explain_number_of(job, "due_at") > 0)
        add_why(job, "at %s %s", when_is(job, "due_at").text,
                skips ? "the call is skipped" : "the job fails");
}

static void say_waiting(struct quern_explanation *job)
{
    const char *because = word_of(job, "because");

    say_queue(job);
    if (is(job, "state", "scheduled")) {
        add_why(job, "it does not start before %s",
                when_is(job, "due_at").text);
        return;
    }
    if (is(job, "reason", "approval")) {
        say_approval(job);
        return;
    }
    if (is(job, "reason", "endpoint"))
        add_why(job, "its model endpoint is left alone until %s",
                when_is(job, "due_at").text);
    else if (is(job, "reason", "budget"))
        add_why(job, "the budget of tenant %s is used up, it tries again at %s",
                word_of(job, "tenant"), when_is(job, "due_at").text);
    else
        add_why(job, "it failed and is tried again at %s",
                when_is(job, "due_at").text);
    if (*because)
        add_why(job, "%s", because);
}

static void say_running(struct quern_explanation *job)
{
    uint64_t now = explain_number_of(job, "now"),
             lease = explain_number_of(job, "lease_until");

    add_why(job, "worker %s holds it since %s", word_of(job, "worker"),
            when_is(job, "epoch").text);
    if (lease > now)
        add_why(job, "its lease ends at %s unless that worker renews it",
                when_is(job, "lease_until").text);
    else if (is_served(job))
        add_why(job, "its lease has ended: another worker takes it over");
    else {
        add_why(job, "its lease has ended, and nobody takes it over");
        say_unserved(job);
    }
    if (explain_number_of(job, "cancel") == 1)
        add_why(job, "its worker was asked to cancel it");
}

static void say_ended(struct quern_explanation *job)
{
    const char *code = word_of(job, "error_code");

    add_why(job, "it ended (%s) at %s%s%s", word_of(job, "state"),
            when_is(job, "finished_at").text, *code ? ": " : "", code);
    if (is(job, "expires_ms", "-2"))
        add_why(job, "its result has expired");
}

static void explain_say_why(struct quern_explanation *job)
{
    if (is(job, "state", "queued"))
        say_queued(job);
    else if (is(job, "state", "scheduled") || is(job, "state", "waiting"))
        say_waiting(job);
    else if (is(job, "state", "in_progress"))
        say_running(job);
    else
        say_ended(job);
}

/* --- asking ----------------------------------------------------------------
 */

/* Facts come as texts. A queue or a session may have a name of digits: so texts
 * that names are made of are never numbers. */
static bool is_number(const char *name, struct view text)
{
    static const char *const names[] = {
        "state",
        "queue",
        "priority",
        "tenant",
        "session",
        "reason",
        "error_code",
        "cancel_reason",
        "worker",
        "approval_call",
        "approval_default",
        "line_first",
        "because",
        "line_first_state",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return false;
    return text.len > 0 && strspn(text.data, "-0123456789") == text.len;
}

static void explain_add_fact(struct quern_explanation *job,
                             const redisReply *name, const redisReply *value)
{
    struct quern_fact *fact;

    job->items = list_grow(job->items, job->count, sizeof(*job->items));
    fact = &job->items[job->count++];
    view_copy(fact->name, sizeof(fact->name), reply_view(name));
    if (value->type == REDIS_REPLY_INTEGER)
        snprintf(fact->text, sizeof(fact->text), "%lld", value->integer);
    else
        view_copy(fact->text, sizeof(fact->text), reply_view(value));
    fact->number = is_number(fact->name, view_of(fact->text));
}

static bool explain(struct quern *quern, const char *text,
                    struct quern_explanation *job, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct view id;
    size_t pairs;

    if (!handle_id(&id, text, err))
        return false;
    transition_explain(&command, &quern->fleet->names, id);
    reply = handle_call_job(quern, id, &command, err);
    command_finish(&command);
    if (!reply && strcmp(err->code, "unknown_job") == 0)
        err_set(err, ERR_REJECT, "unknown_job",
                "no job %.*s: never submitted here, or ended more than a week "
                "ago",
                VIEW_ARG(id));
    if (!reply || !transition_explained(reply, &pairs, err))
        return false;
    for (size_t i = 0; i < pairs; i++)
        explain_add_fact(job, reply->element[2 * i], reply->element[2 * i + 1]);
    explain_say_why(job);
    return true;
}

bool quern_explain(struct quern *quern, const char *id,
                   struct quern_explanation *explanation,
                   struct quern_error *error)
{
    struct err err = { 0 };

    *explanation = (struct quern_explanation){ 0 };
    if (explain(quern, id, explanation, &err))
        return true;
    free(explanation->items);
    *explanation = (struct quern_explanation){ 0 };
    return handle_fail(error, &err);
}
