/* log.c - one JSON line on stderr for every decision. */
#include "executor/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "schemas/message/glyph.h"

enum {
    MAX_SENTENCE_BYTES = 640,
    MAX_LINE_BYTES =
        8 * MAX_SENTENCE_BYTES, /* escaped at its worst, and more */
};

/* Text of sessions and names of files are hostile, and people read logs on
 * terminals: escape sequences must not reach them. */
static void add_string(struct buf *line, const char *name, const char *text)
{
    struct view rest = view_of(text);
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

void log_line(const char *what, const char *who, const char *format, ...)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char text[MAX_SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, MAX_LINE_BYTES);
    buf_printf(&line, "{\"at\":%lld",
               (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    add_string(&line, "what", what);
    if (who)
        add_string(&line, "who", who);
    add_string(&line, "text", text);
    buf_append(&line, "}\n", 2);
    /* One write: lines of several processes do not mix. */
    if (write(STDERR_FILENO, line.data, line.len) < 0)
        return;
}
