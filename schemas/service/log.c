/* log.c - one line for every decision, as JSON or as an entry of the journal.
 */
#include "schemas/service/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schemas/message/glyph.h"
#include "schemas/service/journal.h"

enum { MAX_SENTENCE_BYTES = 64 << 10 };

static const char *worker_name; /* NULL: lines have none */

void log_set_worker(const char *name)
{
    worker_name = name;
}

static uint64_t ms_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ sentence
 */

/* A text as it is, anything else as JSON. */
static void add_text(struct buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        buf_append(out, json_string_value(value), json_string_length(value));
        return;
    }
    CLEANUP(cleanup_free)
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    buf_add(out, view_of(text));
}

static bool say_member(const void *owner, const char *name, struct buf *out)
{
    const json_t *value = json_object_get(owner, name);
    if (value && !json_is_null(value))
        add_text(out, value);
    return value != NULL;
}

/* A line's own text wins over the table's sentence. */
static void say(const struct log_event *event, json_t *line)
{
    if (json_object_get(line, "text"))
        return;
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, MAX_SENTENCE_BYTES);
    log_event_say(event, &text, say_member, line);
    json_object_set_new(line, "text",
                        json_stringn(text.data ? text.data : "", text.len));
}

/* ------------------------------------------------------------------- output */

/* Without its braces it follows our members. People read logs on terminals, so
 * characters that do not show are written as \u.... */
static void log_write_json(const struct log_event *event, const json_t *line)
{
    CLEANUP(cleanup_free) char *object = json_dumps(line, JSON_COMPACT);
    CLEANUP(buf_finish) struct buf out;
    if (!object)
        abort();
    time_t now = (time_t)(ms_of(CLOCK_REALTIME) / 1000);
    unsigned int ms = (unsigned int)(ms_of(CLOCK_REALTIME) % 1000);
    char ts[32];
    struct tm parts;
    strftime(ts, sizeof(ts), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &parts));
    buf_init(&out, 6 * strlen(object) + strlen(event->what) + 128);
    buf_printf(&out, "{\"ts\":\"%s.%03uZ\",\"level\":\"%s\",\"what\":\"%s\",",
               ts, ms, log_severity_names[event->severity], event->what);
    glyph_add_json(&out, view_of(object + 1));
    buf_add(&out, VIEW("\n"));
    /* In one call: other processes may write there, too. */
    fwrite(out.data, 1, out.len, stderr);
}

static bool log_write_journal(const struct log_event *event, json_t *line)
{
    static const char *const priorities[] = { "3", "4", "6", "7" };
    CLEANUP(buf_finish) struct buf entry, value;
    const char *name;
    json_t *member;
    buf_init(&entry, (size_t)2 * MAX_SENTENCE_BYTES);
    buf_init(&value, MAX_SENTENCE_BYTES);
    journal_add(&entry, "PRIORITY", view_of(priorities[event->severity]));
    journal_add(&entry, "SYSLOG_IDENTIFIER",
                view_of(program_invocation_short_name));
    journal_add_member(&entry, "what", view_of(event->what));
    json_object_foreach(line, name, member) {
        buf_clear(&value);
        add_text(&value, member);
        if (strcmp(name, "text") == 0)
            journal_add(&entry, "MESSAGE", buf_view(&value));
        else
            journal_add_member(&entry, name, buf_view(&value));
    }
    return journal_send(&entry);
}

static void log_write(const struct log_event *event, json_t *line)
{
    uint64_t left_out = 0;
    if (log_event_is_due(event, ms_of(CLOCK_MONOTONIC), &left_out)) {
        if (left_out > 0)
            json_object_set_new(line, "left_out",
                                json_integer((json_int_t)left_out));
        say(event, line);
        if (!journal_is_there() || !log_write_journal(event, line))
            log_write_json(event, line);
    }
    json_decref(line);
}

/* -------------------------------------------------------------------- lines */

static void add(json_t *line, const char *name, struct view value)
{
    if (value.len > 0)
        json_object_set_new(line, name, json_stringn(value.data, value.len));
}

/* jansson refuses text that is not UTF-8: the line is still written. */
static void add_members(json_t *line, const char *format, va_list arguments)
{
    json_error_t fault;
    json_t *members = json_vpack_ex(&fault, 0, format, arguments);
    if (members)
        json_object_update(line, members);
    else
        json_object_set_new(line, "fault", json_string(fault.text));
    json_decref(members);
}

void log_line(const char *what, const char *format, ...)
{
    const struct log_event *event = log_event_find(what);
    json_t *line = json_object();
    va_list arguments;
    assert(event); /* a test compares the table with the calls */
    add(line, "worker", view_of(worker_name));
    va_start(arguments, format);
    add_members(line, format, arguments);
    va_end(arguments);
    log_write(event, line);
}

void log_job_line(const struct log_job *job, const char *what,
                  const char *format, ...)
{
    const struct log_event *event = log_event_find(what);
    json_t *line = json_object();
    va_list arguments;
    assert(event);
    add(line, "worker", view_of(worker_name));
    add(line, "job", view_of(job->job));
    add(line, "trace", view_of(job->trace));
    add(line, "queue", job->queue);
    add(line, "tenant", job->tenant);
    add(line, "session", job->session);
    va_start(arguments, format);
    add_members(line, format, arguments);
    va_end(arguments);
    log_write(event, line);
}

/* ------------------------------------------------------------ one loop turn */

static void on_turn(uv_prepare_t *turn)
{
    (void)turn;
    fflush(stderr);
}

void log_gather(uv_loop_t *loop, uv_prepare_t *turn)
{
    static char lines[64 << 10];
    setvbuf(stderr, lines, _IOFBF, sizeof(lines));
    uv_prepare_init(loop, turn);
    uv_prepare_start(turn, on_turn);
    uv_unref((uv_handle_t *)turn);
}
