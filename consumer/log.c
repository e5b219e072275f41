/* log.c - one JSON line on stderr for every decision. */
#include "consumer/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static json_int_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void log_line(const char *what, const char *format, ...)
{
    json_t *line = json_pack("{s:I, s:s}", "at", now_ms(), "what", what);
    va_list arguments;
    va_start(arguments, format);
    json_error_t fault;
    json_t *rest = json_vpack_ex(&fault, 0, format, arguments);
    va_end(arguments);
    /* jansson refuses text that is not UTF-8: the line is still written. */
    if (rest == NULL)
        json_object_set_new(line, "fault", json_string(fault.text));
    json_object_update(line, rest);
    json_decref(rest);
    char *text = json_dumps(line, JSON_COMPACT);
    if (text == NULL)
        abort();
    /* In one write: stderr has no buffer, and others may write there too. */
    size_t len = strlen(text);
    text[len] = '\n';
    fwrite(text, 1, len + 1, stderr);
    free(text);
    json_decref(line);
}
