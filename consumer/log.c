/* log.c - one JSON line on stderr for every decision. */
#include "consumer/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The rest is an object of its own: without its brace it goes on behind ours.
 */
static char *compose(const char *what, json_t *rest)
{
    char *object = json_dumps(rest, JSON_COMPACT);
    char *line = NULL;
    if (object == NULL ||
        asprintf(&line, "{\"at\":%lld,\"what\":\"%s\"%s%s\n", now_ms(), what,
                 object[1] == '}' ? "" : ",", object + 1) < 0)
        abort();
    free(object);
    return line;
}

void log_line(const char *what, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_error_t fault;
    json_t *rest = json_vpack_ex(&fault, 0, format, arguments);
    va_end(arguments);
    /* jansson refuses text that is not UTF-8: the line is still written. */
    if (rest == NULL)
        rest = json_pack("{s:s}", "fault", fault.text);
    char *line = compose(what, rest);
    /* In one write: others may write there too. */
    fwrite(line, 1, strlen(line), stderr);
    free(line);
    json_decref(rest);
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
