/* log.c - one JSON line on stderr for every decision. */
#include "schemas/service/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schemas/message/glyph.h"

static unsigned long long lines_written;

static long long log_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The rest is an object of its own: without its opening brace it follows our
 * members. People read logs on terminals, so characters that do not show are
 * written as \u....
 */
static void compose(struct buf *line, const char *what, json_t *rest)
{
    CLEANUP(cleanup_free) char *object = json_dumps(rest, JSON_COMPACT);
    if (!object)
        abort();
    buf_init(line, 6 * strlen(object) + strlen(what) + 64);
    buf_printf(line, "{\"at\":%lld,\"what\":\"%s\"%s", log_now_ms(), what,
               object[1] == '}' ? "" : ",");
    glyph_add_json(line, view_of(object + 1));
    buf_add(line, VIEW("\n"));
}

/* jansson refuses text that is not UTF-8: the line is still written. */
static json_t *log_pack(const char *format, va_list arguments)
{
    json_error_t fault;
    json_t *rest = json_vpack_ex(&fault, 0, format, arguments);
    return rest ? rest : json_pack("{s:s}", "fault", fault.text);
}

static void log_write(const char *what, json_t *rest)
{
    CLEANUP(buf_finish) struct buf line;
    compose(&line, what, rest);
    /* In one call: other processes may write there, too. */
    fwrite(line.data, 1, line.len, stderr);
    json_decref(rest);
    lines_written++;
}

unsigned long long log_lines(void)
{
    return lines_written;
}

void log_line(const char *what, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *rest = log_pack(format, arguments);
    va_end(arguments);
    log_write(what, rest);
}

void log_job_line(const char *job, const char *trace, const char *what,
                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *rest = log_pack(format, arguments);
    va_end(arguments);
    json_t *line = json_pack("{s:s, s:s*}", "job", job, "trace",
                             *trace == '\0' ? NULL : trace);
    json_object_update(line, rest);
    json_decref(rest);
    log_write(what, line);
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
