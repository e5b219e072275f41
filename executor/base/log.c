/* log.c - one line for every decision, as JSON or as an entry of the journal.
 */
#include "executor/base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "schemas/message/glyph.h"
#include "schemas/service/journal.h"
#include "schemas/service/log_event.h"

enum {
    MAX_SENTENCE_BYTES = 1024,
    /* escaped at its worst, and more */
    MAX_LINE_BYTES = 16 * MAX_SENTENCE_BYTES,
};

struct log_entry {
    const struct log_event *event;
    const char *who, *text;
    uint64_t left_out;
    struct buf sentence;
};

static bool say_member(const void *owner, const char *name, struct buf *out)
{
    const struct log_entry *entry = owner;
    return buf_add(
        out, view_of(strcmp(name, "who") == 0 ? entry->who : entry->text));
}

/* Text of sessions and names of files are hostile, and people read logs on
 * terminals: escape sequences must not reach them. */
static void add_string(struct buf *line, const char *name, struct view rest)
{
    size_t len;
    buf_printf(line, ",\"%s\":\"", name);
    for (; rest.len > 0; rest.data += len, rest.len -= len) {
        uint32_t code = glyph_at(rest, &len);
        if (code == '"' || code == '\\')
            buf_printf(line, "\\%c", (int)code);
        else if (code < 0x20)
            buf_printf(line, "\\u%04x", (unsigned int)code);
        else if (code == GLYPH_BAD)
            buf_add(line, VIEW("\\ufffd"));
        else
            glyph_add_json(line, (struct view){ rest.data, len });
    }
    buf_append(line, "\"", 1);
}

static void log_write_json(const struct log_entry *entry)
{
    struct timespec now;
    struct tm parts;
    char ts[32];
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(ts, sizeof(ts), "%Y-%m-%dT%H:%M:%S",
             gmtime_r(&now.tv_sec, &parts));
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, MAX_LINE_BYTES);
    buf_printf(&out, "{\"ts\":\"%s.%03ldZ\",\"level\":\"%s\"", ts,
               now.tv_nsec / 1000000,
               log_severity_names[entry->event->severity]);
    add_string(&out, "what", view_of(entry->event->what));
    if (entry->who)
        add_string(&out, "who", view_of(entry->who));
    if (entry->left_out > 0)
        buf_printf(&out, ",\"left_out\":%llu",
                   (unsigned long long)entry->left_out);
    add_string(&out, "text", buf_view(&entry->sentence));
    buf_append(&out, "}\n", 2);
    /* One write: lines of several processes do not mix. */
    if (write(STDERR_FILENO, out.data, out.len) < 0)
        return;
}

static bool log_write_journal(const struct log_entry *entry)
{
    static const char *const priorities[] = { "3", "4", "6", "7" };
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, MAX_LINE_BYTES);
    journal_add(&out, "PRIORITY", view_of(priorities[entry->event->severity]));
    journal_add(&out, "SYSLOG_IDENTIFIER",
                view_of(program_invocation_short_name));
    journal_add_member(&out, "what", view_of(entry->event->what));
    if (entry->who)
        journal_add_member(&out, "who", view_of(entry->who));
    journal_add(&out, "MESSAGE", buf_view(&entry->sentence));
    return journal_send(&out);
}

void log_line(const char *what, const char *who, const char *format, ...)
{
    struct timespec now;
    char text[MAX_SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    struct log_entry entry = { log_event_find(what), who, text, 0, { 0 } };
    assert(entry.event); /* a test compares the table with the calls */
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!log_event_is_due(entry.event,
                          (uint64_t)now.tv_sec * 1000 +
                              (uint64_t)now.tv_nsec / 1000000,
                          &entry.left_out))
        return;
    buf_init(&entry.sentence, (size_t)4 * MAX_SENTENCE_BYTES);
    log_event_say(entry.event, &entry.sentence, say_member, &entry);
    if (!journal_is_there() || !log_write_journal(&entry))
        log_write_json(&entry);
    buf_finish(&entry.sentence);
}
