/* echo_server.c - a small server on producer/gateway's HTTP, for its tests.
 *
 *   echo_server SOCKET [head_ms=500] [queue_bytes=65536] ...
 *               [certificate=FILE key=FILE]
 *
 * prints its TCP port, with a certificate also its TLS port, and serves until
 * SIGTERM, which drains it in 2 s. SIGHUP loads the certificate again:
 *
 *   /echo      the method, the segments, the pairs and the body, one a line
 *   /slow      the same after ?ms= milliseconds
 *   /late      the same, but chooses to read the body only after ?ms=
 *   /refuse    401 before the body
 *   /inside    answers 200 inside of the first piece of the body; with ?n= it
 *              begins the stream of /ticks there
 *   /upload    counts the body; it rests ?pause= ms after each piece
 *   /ticks     a stream of ?n= events, one each ?ms=
 *   /follow    a stream of what is sent to /publish
 *   /publish   sends the body to all followers, ?n= times
 *   /end       ends the streams of all followers
 *   /download  ?size= bytes, as fast as the peer reads
 *   /status    an empty answer with status ?code=
 *   /header    has a header that holds the body; with ?n= it is one
 *              of the stream of /ticks
 *   /stats     what has been seen, one "name value" a line */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/gateway/http/event_stream.h"
#include "producer/gateway/http/http_server.h"

enum { DRAIN_MS = 2000, MAX_BODY = 1 << 20, PIECE = 16 << 10 };

static uv_loop_t *loop;
static struct http_server *server;
static struct http_tls *tls;
static const char *certificate, *key; /* their files */
static unsigned long gone[HTTP_GONE_SERVER + 1];
static unsigned long requests, uploads;

/* A request, and then the stream that answers it. */
struct visit {
    struct http_exchange *request; /* NULL: answered or gone */
    struct http_stream *stream;    /* NULL: none, ended or gone */
    struct visit *next;            /* of the followers */
    uint64_t bytes, left;
    unsigned int ms;
    void (*then)(struct visit *visit); /* what the timer is for */
    uv_timer_t timer;
};

static struct visit *followers;

static void on_visit_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void visit_end(struct visit *visit)
{
    struct visit **at = &followers;

    while (*at && *at != visit)
        at = &(*at)->next;
    if (*at)
        *at = visit->next;
    if (!uv_is_closing((uv_handle_t *)&visit->timer))
        uv_close((uv_handle_t *)&visit->timer, on_visit_closed);
}

static void on_gone(void *owner, enum http_gone why)
{
    gone[why]++;
    visit_end(owner);
}

static void on_timer(uv_timer_t *timer)
{
    struct visit *visit = timer->data;
    visit->then(visit);
}

static void visit_later(struct visit *visit, unsigned int ms,
                        void (*then)(struct visit *visit))
{
    visit->then = then;
    uv_timer_start(&visit->timer, on_timer, ms, 0);
}

static struct view pair_of(const struct http_exchange *request,
                           const char *name)
{
    const struct http_target *target = &http_request_head(request)->target;

    for (unsigned int i = 0; i < target->pair_count; i++)
        if (view_is(target->pairs[i].name, name))
            return target->pairs[i].value;
    return (struct view){ "", 0 };
}

static unsigned long number_of(const struct http_exchange *request,
                               const char *name, unsigned long otherwise)
{
    char *text = view_dup(pair_of(request, name));
    unsigned long number = *text ? strtoul(text, NULL, 10) : otherwise;

    free(text);
    return number;
}

static void say(struct visit *visit, unsigned int status, struct view body)
{
    struct http_pair type = { VIEW("Content-Type"), VIEW("text/plain") };

    http_answer(visit->request, status, &type, 1, body);
    visit_end(visit);
}

/* ------------------------------------------------------------------- echoes */

static void echo(struct visit *visit, struct view body)
{
    const struct http_head *head = http_request_head(visit->request);
    const struct http_target *target = &head->target;
    CLEANUP(buf_finish) struct buf out = { .max = 2 * MAX_BODY };

    buf_printf(&out, "%s\n", http_request_method(visit->request));
    for (unsigned int i = 0; i < target->segment_count; i++)
        buf_printf(&out, "/%.*s", VIEW_ARG(target->segments[i]));
    buf_printf(&out, "\n");
    for (unsigned int i = 0; i < target->pair_count; i++)
        buf_printf(&out, "%.*s=%.*s&", VIEW_ARG(target->pairs[i].name),
                   VIEW_ARG(target->pairs[i].value));
    buf_printf(&out, "\n");
    buf_add(&out, body);
    say(visit, 200, buf_view(&out));
}

static void echo_nothing(struct visit *visit)
{
    echo(visit, VIEW(""));
}

static void on_echo_end(void *owner, struct view body)
{
    struct visit *visit = owner;

    if (visit->ms == 0)
        echo(visit, body);
    else
        visit_later(visit, visit->ms, echo_nothing);
}

static void collect(struct visit *visit)
{
    visit->ms = 0;
    http_body_collect(visit->request, MAX_BODY);
}

static const struct http_request_events echo_events = {
    .on_gone = on_gone,
    .on_end = on_echo_end,
};

/* ------------------------------------------------------------------ uploads */

static void upload_resume(struct visit *visit)
{
    http_body_resume(visit->request);
}

static void on_upload_piece(void *owner, struct view piece)
{
    struct visit *visit = owner;

    visit->bytes += piece.len;
    if (visit->ms > 0) {
        http_body_pause(visit->request);
        visit_later(visit, visit->ms, upload_resume);
    }
}

static void on_upload_end(void *owner, struct view body)
{
    struct visit *visit = owner;
    char text[40];

    (void)body;
    uploads++;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)visit->bytes);
    say(visit, 200, view_of(text));
}

static const struct http_request_events upload_events = {
    .on_gone = on_gone,
    .on_piece = on_upload_piece,
    .on_end = on_upload_end,
};

/* ------------------------------------------------------------------ streams */

static void fill(void *owner)
{
    static char zeros[PIECE];
    struct visit *visit = owner;

    while (visit->left > 0 && http_stream_waiting(visit->stream) == 0) {
        size_t len = visit->left < PIECE ? (size_t)visit->left : PIECE;
        struct http_bytes *bytes = http_bytes_new((struct view){ zeros, len });
        http_stream_send(visit->stream, bytes);
        http_bytes_free(bytes);
        visit->left -= len;
    }
    if (visit->left == 0) {
        http_stream_end(visit->stream);
        visit_end(visit);
    }
}

static const struct http_stream_events stream_events = { .on_gone = on_gone };
static const struct http_stream_events download_events = {
    .on_gone = on_gone,
    .on_drained = fill,
};

static void stream_begin(struct visit *visit)
{
    struct http_pair headers[] = {
        { VIEW("Content-Type"), VIEW("text/event-stream") },
        { VIEW("Cache-Control"), VIEW("no-cache, no-transform") },
    };

    visit->stream = http_stream_begin(visit->request, 200, headers, 2,
                                      HTTP_CHUNKED, &stream_events, visit);
    visit->request = NULL;
}

static void tick(struct visit *visit)
{
    struct http_bytes *bytes =
        visit->left > 0 ? event_stream_event(VIEW("tick"), VIEW("{}"), NULL)
                        : event_stream_done();

    http_stream_send(visit->stream, bytes);
    http_bytes_free(bytes);
    if (visit->left-- > 0) {
        visit_later(visit, visit->ms, tick);
        return;
    }
    http_stream_end(visit->stream);
    visit_end(visit);
}

static void on_inside_piece(void *owner, struct view piece)
{
    struct visit *visit = owner;

    (void)piece;
    if (visit->left == 0) {
        say(visit, 200, VIEW("inside"));
        return;
    }
    stream_begin(visit);
    visit_later(visit, visit->ms, tick);
}

static const struct http_request_events inside_events = {
    .on_gone = on_gone,
    .on_piece = on_inside_piece,
};

static void on_publish_end(void *owner, struct view body)
{
    struct visit *visit = owner, *next;
    struct http_bytes *bytes = event_stream_event(VIEW("said"), body, NULL);

    for (uint64_t i = 0; bytes && i < visit->left; i++)
        for (struct visit *one = followers; one; one = next) {
            next = one->next;
            http_stream_send(one->stream, bytes);
        }
    say(visit, bytes ? 200 : 400, VIEW(""));
    http_bytes_free(bytes);
}

static const struct http_request_events publish_events = {
    .on_gone = on_gone,
    .on_end = on_publish_end,
};

static void end_followers(void)
{
    while (followers) {
        struct visit *one = followers;
        struct http_bytes *bytes = event_stream_done();
        http_stream_send(one->stream, bytes);
        http_bytes_free(bytes);
        http_stream_end(one->stream);
        visit_end(one);
    }
}

/* ------------------------------------------------------------------- routes */

static unsigned long resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (file && fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void route_stats(struct visit *visit)
{
    unsigned long count = 0, waiting = 0;
    char text[400];

    for (struct visit *one = followers; one; one = one->next) {
        count++;
        waiting += http_stream_waiting(one->stream);
    }
    snprintf(text, sizeof(text),
             "connections %zu\nrequests %lu\nuploads %lu\nfollowers %lu\n"
             "waiting %lu\npeer %lu\nslow %lu\ncut %lu\nbad %lu\nserver %lu\n"
             "resident %lu\n",
             http_server_connections(server), requests, uploads, count, waiting,
             gone[HTTP_GONE_PEER], gone[HTTP_GONE_SLOW], gone[HTTP_GONE_CUT],
             gone[HTTP_GONE_BAD], gone[HTTP_GONE_SERVER], resident_kib());
    say(visit, 200, view_of(text));
}

static void route_body(struct visit *visit,
                       const struct http_request_events *events, bool collects)
{
    http_request_follow(visit->request, events, visit);
    if (collects)
        http_body_collect(visit->request, MAX_BODY);
    else
        http_body_receive(visit->request, UINT64_C(1) << 30);
}

static void on_header_end(void *owner, struct view body)
{
    struct visit *visit = owner;
    struct http_pair header = { VIEW("X-Echo"), body };

    if (visit->left > 0) {
        visit->stream = http_stream_begin(visit->request, 200, &header, 1,
                                          HTTP_CHUNKED, &stream_events, visit);
        visit_later(visit, visit->ms, tick);
        return;
    }
    http_answer(visit->request, 200, &header, 1, VIEW(""));
    visit_end(visit);
}

static const struct http_request_events header_events = {
    .on_gone = on_gone,
    .on_end = on_header_end,
};

static bool route_stream(struct visit *visit, struct view route)
{
    visit->left = number_of(visit->request, "n", 1);
    if (view_is(route, "ticks")) {
        stream_begin(visit);
        visit_later(visit, visit->ms, tick);
    } else if (view_is(route, "follow")) {
        stream_begin(visit);
        visit->next = followers;
        followers = visit;
    } else if (view_is(route, "download")) {
        visit->left = number_of(visit->request, "size", 0);
        visit->stream =
            http_stream_begin(visit->request, 200, NULL, 0,
                              (int64_t)visit->left, &download_events, visit);
        fill(visit);
    } else {
        return false;
    }
    return true;
}

static void route(struct visit *visit, struct view name)
{
    struct http_exchange *request = visit->request;

    if (view_is(name, "echo") || view_is(name, "slow")) {
        visit->ms = view_is(name, "echo") ? 0 : visit->ms;
        route_body(visit, &echo_events, true);
    } else if (view_is(name, "late")) {
        http_request_follow(request, &echo_events, visit);
        visit_later(visit, visit->ms, collect);
    } else if (view_is(name, "upload")) {
        visit->ms = (unsigned int)number_of(request, "pause", 0);
        route_body(visit, &upload_events, false);
    } else if (view_is(name, "inside")) {
        visit->left = number_of(request, "n", 0);
        http_request_follow(request, &inside_events, visit);
        http_body_receive(request, 1000);
    } else if (view_is(name, "publish")) {
        visit->left = number_of(request, "n", 1);
        route_body(visit, &publish_events, true);
    } else if (view_is(name, "header")) {
        visit->left = number_of(request, "n", 0);
        route_body(visit, &header_events, true);
    } else if (view_is(name, "stats")) {
        route_stats(visit);
    } else if (view_is(name, "end")) {
        end_followers();
        say(visit, 200, VIEW(""));
    } else if (view_is(name, "status")) {
        say(visit, (unsigned int)number_of(request, "code", 200),
            VIEW("a body"));
    } else {
        say(visit, view_is(name, "refuse") ? 401 : 404, VIEW("no"));
    }
}

static void on_request(void *owner, struct http_exchange *request)
{
    const struct http_target *target = &http_request_head(request)->target;
    struct view name = target->segment_count ? target->segments[0] : VIEW("");
    struct visit *visit = calloc(1, sizeof(*visit));

    (void)owner;
    if (!visit)
        abort();
    requests++;
    visit->request = request;
    uv_timer_init(loop, &visit->timer);
    visit->timer.data = visit;
    visit->ms = (unsigned int)number_of(request, "ms", 0);
    if (!route_stream(visit, name))
        route(visit, name);
}

/* --------------------------------------------------------------------- main */

static void on_drained(void *owner)
{
    http_server_free(server);
    http_tls_free(tls);
    uv_close(owner, NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct err err;

    if (number == SIGHUP) {
        printf("reload: %s\n", http_tls_reload(tls, &err) ? "done" : err.text);
        fflush(stdout);
        return;
    }
    uv_signal_stop(signal);
    uv_close(signal->data, NULL);
    http_server_drain(server, DRAIN_MS, on_drained, signal);
}

static void set_limit(struct http_limits *limits, const char *word)
{
    const char *equals = strchr(word, '=');
    unsigned long value = equals ? strtoul(equals + 1, NULL, 10) : 0;
    struct view name = { word, equals ? (size_t)(equals - word) : 0 };

    if (view_is(name, "head_ms"))
        limits->head_ms = value;
    else if (view_is(name, "body_grace_ms"))
        limits->body_grace_ms = value;
    else if (view_is(name, "keep_alive_ms"))
        limits->keep_alive_ms = value;
    else if (view_is(name, "stall_ms"))
        limits->stall_ms = value;
    else if (view_is(name, "waiting_bytes"))
        limits->waiting_bytes = value;
    else if (view_is(name, "linger_ms"))
        limits->linger_ms = value;
    else if (view_is(name, "connections"))
        limits->connections = (uint32_t)value;
    else if (view_is(name, "connections_per_address"))
        limits->connections_per_address = (uint32_t)value;
    else if (view_is(name, "collected_bytes"))
        limits->collected_bytes = value;
    else if (view_is(name, "certificate"))
        certificate = equals + 1;
    else if (view_is(name, "key"))
        key = equals + 1;
    else
        exit(64);
}

static bool listen_everywhere(const char *path, struct err *err)
{
    uint16_t port, tls_port = 0;

    if (!http_server_listen_unix(server, path, err) ||
        !http_server_listen_tcp(server, "127.0.0.1", 0, &port, err))
        return false;
    if (certificate) {
        tls = http_tls_new(certificate, key, err);
        if (!tls || !http_server_listen_tls(server, "127.0.0.1", 0, tls,
                                            &tls_port, err))
            return false;
    }
    printf("%d %d\n", port, tls_port);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_handler handler = { .on_request = on_request };
    uv_signal_t term, hup;
    struct err err;

    for (int i = 2; i < argc; i++)
        set_limit(&limits, argv[i]);
    loop = uv_default_loop();
    signal(SIGPIPE, SIG_IGN);
    uv_signal_init(loop, &term);
    uv_signal_init(loop, &hup);
    term.data = &hup;
    uv_signal_start(&term, on_signal, SIGTERM);
    uv_signal_start(&hup, on_signal, SIGHUP);
    server = http_server_new(loop, &limits, &handler);
    if (argc < 2 || !listen_everywhere(argv[1], &err)) {
        fprintf(stderr, "%s\n", argc < 2 ? "no socket" : err.text);
        return 1;
    }
    uv_run(loop, UV_RUN_DEFAULT);
    return uv_loop_close(loop) == 0 ? 0 : 1;
}
