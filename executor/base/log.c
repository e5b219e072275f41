/* log.c - one JSON line on stderr for every decision. */
#include "executor/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "schemas/message/buf.h"

enum {
    MAX_SENTENCE_BYTES = 640,
    MAX_LINE_BYTES =
        8 * MAX_SENTENCE_BYTES, /* escaped at its worst, and more */
};

static void add_string(struct buf *line, const char *name, const char *text)
{
    buf_printf(line, ",\"%s\":\"", name);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            buf_printf(line, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            buf_printf(line, "\\u%04x", c);
        else
            buf_append(line, text, 1);
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
