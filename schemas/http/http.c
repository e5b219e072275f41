/* http.c - HTTP requests on a libuv loop.
 *
 * The loop drives curl: it watches curl's sockets and a timer, and each of
 * their events is a step, a call into curl. curl calls back in the middle of
 * its own work, where it may not be entered (http.busy). A call that is started
 * or cancelled there is only marked, and http_leave() does it after the step.
 *
 * curl bounds the time of the connection and of the whole. The times between
 * payloads are bounded here, by one timer for all calls: curl counts bytes, and
 * comments that only keep a connection alive are bytes, too. */
#include "schemas/http/http.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "schemas/http/trace_header.h"

enum {
    /* On one HTTP/2 connection, as far as the server allows; curl's own bound
     * of 100 would open a connection for every further one. */
    MAX_STREAMS = 1000,
    CONNECT_MS = 5000,
    FIRST_BYTE_MS = 300 * 1000,
    IDLE_MS = 120 * 1000,
    TOTAL_MS = 600 * 1000,
    /* For the end of a body whose rest is not wanted: a body that ends well
     * leaves a connection that can be used again. */
    LINGER_MS = 200,
    SWEEP_MS = 100,
    STEP_BYTES = 128 << 10,  /* of a body, before other calls have their turn */
    BUFFER_BYTES = 2 << 10,  /* small: one for each of thousands of calls */
    UPLOAD_BYTES = 16 << 10, /* the same; curl takes no less */
    MAX_RETRY_AFTER_S = 7 * 24 * 3600,
};

struct http_call {
    struct http *http;
    struct http_call *next, *previous;
    CURL *easy;
    struct curl_slist *headers;
    struct http_events events;
    void (*on_sent)(void *owner);
    http_guard *guard;
    const char *keep; /* of the request; borrowed */
    void (*on_headers)(void *owner, struct http_headers *headers);
    void *owner;
    bool added;     /* it is in curl's multi handle */
    bool cancelled; /* from inside curl: http_leave() frees it */
    bool stopped;   /* on_body() said HTTP_STOP */
    bool too_large;
    bool late;               /* on_sweep() ended it; text says why */
    struct view unsent;      /* what is left of the request's body */
    size_t bytes, max_bytes; /* of the answer's body */
    uint64_t step;           /* the last one of http.steps that brought bytes */
    size_t step_bytes;       /* so many of them */
    bool paused;             /* it has had its turn; on_resume() goes on */
    uint64_t due_ms;         /* loop time by which the next payload must come */
    uint64_t wait_ms;        /* how long that is waited for */
    uint64_t idle_ms;
    char text[CURL_ERROR_SIZE]; /* curl's sentence, or ours when late */
};

struct http {
    uv_loop_t *loop;
    CURLM *curl;
    uv_timer_t timer; /* curl's */
    unsigned handles; /* timer and sockets: those that are not closed yet */
    bool busy;        /* inside curl: no call may be added or removed */
    uint64_t steps;   /* calls into curl so far: names the one that runs */
    bool unsettled;   /* calls were started or cancelled from inside curl */
    uv_timer_t sweep;
    uv_idle_t resume; /* while there are calls that are paused */
    struct http_call *calls;
    uint64_t due_ms; /* no call is due before: spares a walk over thousands */
    void (*closed)(void *owner);
    void *owner;
};

struct socket_watch {
    uv_poll_t poll;
    struct http *http;
    curl_socket_t fd;
};

struct http_headers {
    CURL *easy;
    struct curl_header *last;
};

uint64_t http_now_ms(const struct http *http)
{
    return uv_now(http->loop);
}

static uint64_t http_call_now_ms(const struct http_call *call)
{
    return http_now_ms(call->http);
}

/* ------------------------------------------------------- the end of a call */

static void call_free(struct http_call *call)
{
    struct http *http = call->http;

    if (call->added)
        curl_multi_remove_handle(http->curl, call->easy);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    if (call->next)
        call->next->previous = call->previous;
    if (call->previous)
        call->previous->next = call->next;
    else
        http->calls = call->next;
    free(call);
}

static uint64_t seconds_to_ms(double seconds)
{
    return seconds > 0 && seconds < (double)MAX_RETRY_AFTER_S
               ? (uint64_t)(seconds * 1000)
               : 0;
}

static const char *header(CURL *easy, const char *name)
{
    struct curl_header *found;

    return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &found) ==
                   CURLHE_OK
               ? found->value
               : NULL;
}

/* Now, by the server's clock, which its dates are to be compared with. */
static time_t time_of(CURL *easy)
{
    const char *date = header(easy, "date");
    time_t theirs = date ? curl_getdate(date, NULL) : -1;

    return theirs > 0 ? theirs : time(NULL);
}

/* Milliseconds, seconds (with a fraction, too), or a date. */
static uint64_t read_retry_after(CURL *easy)
{
    const char *ms = header(easy, "retry-after-ms");
    const char *after = header(easy, "retry-after");
    char *end;
    double seconds;

    if (ms)
        return seconds_to_ms(strtod(ms, NULL) / 1000);
    if (!after)
        return 0;
    seconds = strtod(after, &end);
    if (end == after)
        seconds = difftime(curl_getdate(after, NULL), time_of(easy));
    return seconds_to_ms(seconds);
}

static int read_should_retry(CURL *easy)
{
    const char *value = header(easy, "x-should-retry");

    if (!value)
        return 0;
    return strcmp(value, "true") == 0 ? 1 : strcmp(value, "false") ? 0 : -1;
}

/* A value that does not fit is left out: cut, it would be another value. */
static void copy_header(CURL *easy, const char *name, char *room, size_t size)
{
    const char *value = header(easy, name);

    if (value && strlen(value) < size)
        memcpy(room, value, strlen(value) + 1);
}

bool http_header_next(struct http_headers *headers, struct view *name,
                      struct view *value)
{
    headers->last =
        curl_easy_nextheader(headers->easy, CURLH_HEADER, -1, headers->last);
    if (!headers->last)
        return false;
    *name = view_of(headers->last->name);
    *value = view_of(headers->last->value);
    return true;
}

uint64_t http_header_time(const struct http_headers *headers)
{
    return (uint64_t)time_of(headers->easy) * 1000;
}

/* Once: with the first bytes of the body, or with the end when there is none.
 */
static void tell_headers(struct http_call *call)
{
    struct http_headers headers = { .easy = call->easy };

    if (call->on_headers && !call->cancelled)
        call->on_headers(call->owner, &headers);
    call->on_headers = NULL;
}

/* curl notes the time just before it sends. Without that time the server
 * provably has not got the request. */
static bool was_sent(CURL *easy)
{
    curl_off_t sent_us = 0;

    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
    return sent_us > 0;
}

static enum http_end end_of(const struct http_call *call, CURLcode code)
{
    if (code == CURLE_OK)
        return HTTP_ANSWERED;
    if (call->stopped)
        return HTTP_STOPPED;
    if (call->too_large)
        return HTTP_TOO_LARGE;
    if (!was_sent(call->easy))
        return HTTP_NOT_SENT;
    return call->late || code == CURLE_OPERATION_TIMEDOUT ? HTTP_TIMEOUT
                                                          : HTTP_BROKEN;
}

static void http_call_report(struct http_call *call, CURLcode code)
{
    struct http_events events = call->events;
    void *owner = call->owner;
    struct http_response response = { .end = end_of(call, code) };
    long status = 0;

    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    tell_headers(call);
    response.status = (unsigned)status;
    response.retry_after_ms = read_retry_after(call->easy);
    response.should_retry = read_should_retry(call->easy);
    copy_header(call->easy, "content-type", response.type,
                sizeof(response.type));
    copy_header(call->easy, "location", response.location,
                sizeof(response.location));
    if (call->keep)
        copy_header(call->easy, call->keep, response.kept,
                    sizeof(response.kept));
    if (call->too_large)
        snprintf(response.text, sizeof(response.text),
                 "the answer is longer than %zu bytes", call->max_bytes);
    else if (response.end != HTTP_ANSWERED)
        snprintf(response.text, sizeof(response.text), "%s",
                 *call->text ? call->text : curl_easy_strerror(code));
    /* Freed first, so that the owner never has a call that is over. */
    call_free(call);
    events.on_done(owner, &response);
}

/* -------------------------------------------------------- curl on the loop */

static void call_add(struct http_call *call)
{
    call->added = true;
    curl_multi_add_handle(call->http->curl, call->easy);
}

/* Starts and cancels what was marked while curl was busy. */
static void http_settle(struct http *http)
{
    struct http_call *call = http->calls, *next;

    http->unsettled = false;
    for (; call; call = next) {
        next = call->next;
        if (call->cancelled)
            call_free(call);
        else if (!call->added)
            call_add(call);
    }
}

static void http_enter(struct http *http)
{
    http->busy = true;
    http->steps++;
}

/* The end of a step: does what could not be done inside curl. */
static void http_leave(struct http *http)
{
    struct CURLMsg *message;
    int left;

    http->busy = false;
    if (http->unsettled)
        http_settle(http);
    while ((message = curl_multi_info_read(http->curl, &left))) {
        CURLcode code = message->data.result;
        struct http_call *call;

        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        http_call_report(call, code);
    }
}

static void http_step(struct http *http, curl_socket_t fd, int mask)
{
    int running;

    http_enter(http);
    curl_multi_socket_action(http->curl, fd, mask, &running);
    http_leave(http);
}

/* On POLLERR libuv stops the handle and reports an error. curl is then told
 * that the socket is ready, and finds out by itself what is wrong. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct socket_watch *watch = poll->data;
    int mask = status < 0 ? CURL_CSELECT_IN | CURL_CSELECT_OUT : 0;

    if (events & UV_READABLE)
        mask |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        mask |= CURL_CSELECT_OUT;
    http_step(watch->http, watch->fd, mask);
}

/* The last one frees http. */
static void handle_closed(struct http *http)
{
    void (*closed)(void *owner) = http->closed;
    void *owner = http->owner;

    if (--http->handles > 0)
        return;
    free(http);
    if (closed)
        closed(owner);
}

static void on_watch_closed(uv_handle_t *handle)
{
    struct socket_watch *watch = handle->data;
    struct http *http = watch->http;

    free(watch);
    handle_closed(http);
}

static struct socket_watch *watch_new(struct http *http, curl_socket_t fd)
{
    struct socket_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        abort();
    watch->http = http;
    watch->fd = fd;
    if (uv_poll_init_socket(http->loop, &watch->poll, fd) != 0) {
        free(watch);
        return NULL;
    }
    watch->poll.data = watch;
    http->handles++;
    curl_multi_assign(http->curl, fd, watch);
    return watch;
}

/* curl begins or ends to watch a socket. A watch that ends is closed at once:
 * the number of the socket may belong to a new one in the next moment. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *owner,
                     void *socket_owner)
{
    struct http *http = owner;
    struct socket_watch *watch = socket_owner;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
        curl_multi_assign(http->curl, fd, NULL);
        return 0;
    }
    if (!watch)
        watch = watch_new(http, fd);
    if (!watch)
        return -1;
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    return uv_poll_start(&watch->poll, events, on_poll) == 0 ? 0 : -1;
}

static void on_timeout(uv_timer_t *timer)
{
    http_step(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* Never steps from here, not even for 0 ms: this is called from inside curl. */
static int on_timer(CURLM *curl, long wait_ms, void *owner)
{
    struct http *http = owner;

    (void)curl;
    if (wait_ms < 0)
        uv_timer_stop(&http->timer);
    else
        uv_timer_start(&http->timer, on_timeout, (uint64_t)wait_ms, 0);
    return 0;
}

static bool http_open_curl(struct http *http)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return false;
    http->curl = curl_multi_init();
    if (!http->curl) {
        curl_global_cleanup();
        return false;
    }
    curl_multi_setopt(http->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(http->curl, CURLMOPT_SOCKETDATA, http);
    curl_multi_setopt(http->curl, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(http->curl, CURLMOPT_TIMERDATA, http);
    curl_multi_setopt(http->curl, CURLMOPT_MAX_CONCURRENT_STREAMS,
                      (long)MAX_STREAMS);
    return true;
}

struct http *http_new(uv_loop_t *loop)
{
    struct http *http = calloc(1, sizeof(*http));

    if (!http)
        abort();
    if (!http_open_curl(http)) {
        free(http);
        return NULL;
    }
    http->loop = loop;
    http->due_ms = UINT64_MAX;
    uv_timer_init(loop, &http->timer);
    http->timer.data = http;
    http->handles = 1;
    uv_timer_init(loop, &http->sweep);
    http->sweep.data = http;
    uv_idle_init(loop, &http->resume);
    http->resume.data = http;
    return http;
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void on_resume_closed(uv_handle_t *handle)
{
    struct http *http = handle->data;

    curl_multi_cleanup(http->curl); /* gives up its sockets through us */
    uv_close((uv_handle_t *)&http->timer, on_timer_closed);
    curl_global_cleanup();
}

static void on_sweep_closed(uv_handle_t *handle)
{
    struct http *http = handle->data;

    uv_close((uv_handle_t *)&http->resume, on_resume_closed);
}

void http_free(struct http *http, void (*closed)(void *owner), void *owner)
{
    assert(!http->busy);
    http->closed = closed;
    http->owner = owner;
    while (http->calls)
        call_free(http->calls);
    uv_close((uv_handle_t *)&http->sweep, on_sweep_closed);
}

/* ----------------------------------------------------- the bytes of a call */

/* Gives curl the request's body, once. With CURLOPT_POSTFIELDS curl would send
 * a POST again by itself after a kept connection has broken, and a model's
 * answer would be paid for twice. There is no function to rewind, so curl
 * reports the failure instead, unless it had sent no byte of the body. */
static size_t on_read(char *room, size_t one, size_t len, void *owner)
{
    struct http_call *call = owner;

    (void)one;
    if (len > call->unsent.len)
        len = call->unsent.len;
    memcpy(room, call->unsent.data, len);
    call->unsent.data += len;
    call->unsent.len -= len;
    if (call->unsent.len == 0 && call->on_sent && !call->cancelled)
        call->on_sent(call->owner);
    return len;
}

static void http_call_await(struct http_call *call, uint64_t wait_ms)
{
    struct http *http = call->http;

    call->wait_ms = wait_ms;
    call->due_ms = http_call_now_ms(call) + wait_ms;
    if (call->due_ms < http->due_ms)
        http->due_ms = call->due_ms;
}

/* Goes on with one paused call for each turn of the loop. */
static void on_resume(uv_idle_t *resume)
{
    struct http *http = resume->data;
    struct http_call *call = http->calls;

    while (call && !call->paused)
        call = call->next;
    if (!call) {
        uv_idle_stop(resume);
        return;
    }
    call->paused = false;
    http_enter(http);
    curl_easy_pause(call->easy, CURLPAUSE_CONT);
    http_leave(http); /* call may be gone */
}

/* Pauses a call that has brought STEP_BYTES in one step. curl reads on for as
 * long as there are bytes; from a server as fast as we are it would not return
 * to the loop before the end of the body, and leases would run out. */
static bool is_too_much(struct http_call *call)
{
    struct http *http = call->http;

    if (call->step != http->steps)
        call->step_bytes = 0;
    call->step = http->steps;
    if (call->step_bytes < STEP_BYTES)
        return false;
    call->paused = true;
    uv_idle_start(&http->resume, on_resume);
    return true;
}

/* curl's own signature. NOLINTNEXTLINE(readability-non-const-parameter) */
static size_t on_body(char *data, size_t one, size_t len, void *owner)
{
    struct http_call *call = owner;
    enum http_verdict verdict;
    long status = 0;

    (void)one;
    if (is_too_much(call))
        return CURL_WRITEFUNC_PAUSE;
    call->step_bytes += len;
    call->bytes += len;
    call->too_large = call->bytes > call->max_bytes;
    if (call->too_large || call->cancelled)
        return CURL_WRITEFUNC_ERROR;
    if (call->stopped)
        return len;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    tell_headers(call);
    verdict = call->events.on_body(call->owner, (unsigned)status,
                                   (struct view){ data, len });
    if (verdict == HTTP_PAYLOAD)
        http_call_await(call, call->idle_ms);
    if (verdict == HTTP_STOP) {
        call->stopped = true;
        http_call_await(call, LINGER_MS);
    }
    return call->cancelled ? CURL_WRITEFUNC_ERROR : len;
}

/* Ends the calls whose payload is late. */
static void on_sweep(uv_timer_t *timer)
{
    struct http *http = timer->data;
    struct http_call *call = http->calls;

    if (!call)
        uv_timer_stop(timer);
    if (uv_now(http->loop) < http->due_ms)
        return;
    http->due_ms = UINT64_MAX;
    while (call) {
        bool late = call->added && http_call_now_ms(call) >= call->due_ms;

        if (!late) {
            if (call->due_ms < http->due_ms)
                http->due_ms = call->due_ms;
            call = call->next;
            continue;
        }
        call->late = true;
        snprintf(call->text, sizeof(call->text), "%s within %llu ms",
                 call->bytes > 0 ? "nothing new came" : "no answer",
                 (unsigned long long)call->wait_ms);
        http_call_report(call, CURLE_OPERATION_TIMEDOUT);
        /* From the start: the owner may have ended any other call. */
        call = http->calls;
    }
}

/* ----------------------------------------------------- the start of a call */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

/* The variables with which the curl command and OpenSSL replace the system's
 * certificates. Only a file, no folder: curl keeps a file's certificates in
 * memory, but would read a folder for each connection, which takes 20 ms. */
static void set_certificates(CURL *easy)
{
    const char *path = getenv("CURL_CA_BUNDLE");

    if (!path)
        path = getenv("SSL_CERT_FILE");
    if (!path)
        path = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (!path || access(path, R_OK) != 0)
        return;
    curl_easy_setopt(easy, CURLOPT_CAINFO, path);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}

static void set_transport(CURL *easy, const struct http_request *request)
{
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* Share a connection that is still being made: over TLS its protocol is
     * known at once. Without, curl would wait for the first answer. */
    if (view_starts(view_of(request->url), "https:"))
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    /* Or a call that ends while its name is looked up would keep the loop until
     * the resolver's thread is done, which takes as long as the name server. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BYTES);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "quern/" QUERN_VERSION);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)or_default(request->connect_ms, CONNECT_MS));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     (long)or_default(request->total_ms, TOTAL_MS));
    set_certificates(easy);
}

/* "Expect:" keeps curl from waiting for a "100 Continue" before it sends a long
 * body: model endpoints never send one. */
static struct curl_slist *make_headers(const struct http_request *request)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    const char *const *lines = request->headers;
    struct trace_lines trace;

    for (; lines && *lines; lines++)
        list = curl_slist_append(list, *lines);
    if (trace_header_write(&trace, &request->trace, request->headers))
        list = curl_slist_append(list, trace.parent);
    if (*trace.state != '\0')
        list = curl_slist_append(list, trace.state);
    return list;
}

static curl_socket_t on_open(void *owner, curlsocktype purpose,
                             struct curl_sockaddr *to)
{
    const struct http_call *call = owner;

    (void)purpose;
    if (!call->guard(call->owner, &to->addr))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* A kept connection was made without this guard, and a proxy connects by
 * itself: neither would ask. */
static void set_guard(struct http_call *call)
{
    CURL *easy = call->easy;

    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static void set_content(struct http_call *call,
                        const struct http_request *request)
{
    CURL *easy = call->easy;

    call->headers = make_headers(request);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    if (request->body.len > 0) {
        call->unsent = request->body;
        call->on_sent = request->on_sent;
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)request->body.len);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, call);
    }
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->text);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
}

struct http_call *http_start(struct http *http,
                             const struct http_request *request,
                             struct http_events events, void *owner)
{
    struct http_call *call = calloc(1, sizeof(*call));

    if (!call || !(call->easy = curl_easy_init()))
        abort();
    call->http = http;
    call->events = events;
    call->owner = owner;
    call->max_bytes = request->max_bytes;
    call->keep = request->keep;
    call->on_headers = request->on_headers;
    call->idle_ms = or_default(request->idle_ms, IDLE_MS);
    http_call_await(call, or_default(request->first_byte_ms, FIRST_BYTE_MS));
    set_transport(call->easy, request);
    set_content(call, request);
    call->guard = request->guard;
    if (call->guard)
        set_guard(call);
    if (request->packed) /* in whatever way curl knows */
        curl_easy_setopt(call->easy, CURLOPT_ACCEPT_ENCODING, "");
    call->next = http->calls;
    if (call->next)
        call->next->previous = call;
    http->calls = call;
    if (http->busy)
        http->unsettled = true;
    else
        call_add(call);
    if (!uv_is_active((uv_handle_t *)&http->sweep))
        uv_timer_start(&http->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    return call;
}

void http_cancel(struct http_call *call)
{
    if (!call)
        return;
    call->cancelled = true;
    if (call->http->busy)
        call->http->unsettled = true;
    else
        call_free(call);
}
