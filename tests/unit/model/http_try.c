/* http_try.c - makes requests with the consumer's HTTP client and writes what
 * came of each as a line of JSON, so that servers written in Python can look at
 * it from the other side.
 *
 *   http_try URL [post=BYTES] [max=BYTES] [first=MS] [idle=MS] [total=MS]
 *            [times=N] [pause=MS] [at_once=N] [warm=1] [stop=BYTES]
 *            [noise=1] */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/http/http.h"

static struct {
    uv_loop_t loop;
    struct http *http;
    uv_timer_t pause;
    struct http_request request;
    unsigned long times, pause_ms, at_once;
    size_t stop_at;
    bool noise;
    bool warm;    /* one request alone, before all the others */
    size_t bytes; /* of the answer, so far */
    size_t turn;  /* ... in this turn of the loop */
    size_t most;  /* ... in any */
} try = { .times = 1, .at_once = 1 };

static void start(void);

static void start_all(void)
{
    for (unsigned long i = 0; i < try.at_once; i++)
        start();
}

static void on_pause(uv_timer_t *timer)
{
    (void)timer;
    start();
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    (void)owner;
    (void)status;
    try.bytes += bytes.len;
    try.turn += bytes.len;
    if (try.turn > try.most)
        try.most = try.turn;
    if (try.stop_at > 0 && try.bytes >= try.stop_at)
        return HTTP_STOP;
    return try.noise ? HTTP_NOISE : HTTP_PAYLOAD;
}

static void on_done(void *owner, const struct http_response *response)
{
    static const char *const ends[] = { "answered", "not_sent",  "broken",
                                        "timeout",  "too_large", "stopped" };
    json_t *json = json_pack(
        "{s:s, s:i, s:I, s:i, s:s, s:I, s:I}", "end", ends[response->end],
        "status", (int)response->status, "retry_after_ms",
        (json_int_t)response->retry_after_ms, "should_retry",
        response->should_retry, "text", response->text, "bytes",
        (json_int_t)try.bytes, "most", (json_int_t)try.most);

    (void)owner;
    json_dumpf(json, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(json);
    if (try.warm) {
        try.warm = false;
        start_all();
    } else if (--try.times > 0 && try.at_once == 1)
        uv_timer_start(&try.pause, on_pause, try.pause_ms, 0);
}

static void start(void)
{
    try.bytes = 0;
    http_start(try.http, &try.request, (struct http_events){ on_body, on_done },
               NULL);
}

static void read_option(const char *option)
{
    const char *value = strchr(option, '=') + 1;
    unsigned long number = strtoul(value, NULL, 10);
    static const char header[] = "X-Test: yes";
    static const char *const headers[] = { header, NULL };

    if (strncmp(option, "post=", 5) == 0) {
        char *body = malloc(number);

        memset(body, 'x', number);
        try.request.body = (struct view){ body, number };
        try.request.headers = headers;
    } else if (strncmp(option, "max=", 4) == 0)
        try.request.max_bytes = number;
    else if (strncmp(option, "first=", 6) == 0)
        try.request.first_byte_ms = number;
    else if (strncmp(option, "idle=", 5) == 0)
        try.request.idle_ms = number;
    else if (strncmp(option, "total=", 6) == 0)
        try.request.total_ms = number;
    else if (strncmp(option, "times=", 6) == 0)
        try.times = number;
    else if (strncmp(option, "pause=", 6) == 0)
        try.pause_ms = number;
    else if (strncmp(option, "at_once=", 8) == 0)
        try.at_once = try.times = number;
    else if (strncmp(option, "stop=", 5) == 0)
        try.stop_at = number;
    else if (strncmp(option, "warm=", 5) == 0)
        try.warm = true;
    else
        try.noise = true;
}

int main(int argc, char **argv)
{
    uv_loop_init(&try.loop);
    try.http = http_new(&try.loop);
    try.request.url = argv[1];
    try.request.max_bytes = 1 << 20;
    for (int i = 2; i < argc; i++)
        read_option(argv[i]);
    uv_timer_init(&try.loop, &try.pause);
    if (try.warm)
        start();
    else
        start_all();
    while (try.times > 0) {
        try.turn = 0;
        uv_run(&try.loop, UV_RUN_ONCE);
    }
    http_free(try.http, NULL, NULL);
    uv_close((uv_handle_t *)&try.pause, NULL);
    uv_run(&try.loop, UV_RUN_DEFAULT);
    if (try.request.body.len > 0)
        free((void *)(uintptr_t)try.request.body.data);
    return uv_loop_close(&try.loop) == 0 ? 0 : 1;
}
