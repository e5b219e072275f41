/* http_multi.c - curl's multi handle driven by a libuv loop. */
#include "consumer/model/http_multi.h"

#include <assert.h>
#include <stdlib.h>

/* On one HTTP/2 connection, as far as the server allows; curl's own bound of
 * 100 would open a connection for every further one. */
enum { MAX_STREAMS = 1000 };

struct socket_watch {
    uv_poll_t poll;
    struct http_multi *multi;
    curl_socket_t fd;
};

static void handle_closed(struct http_multi *multi)
{
    if (--multi->handles == 0)
        multi->on_closed(multi->owner);
}

static void http_multi_step(struct http_multi *multi, curl_socket_t fd,
                            int mask)
{
    int running;

    multi->busy = true;
    multi->steps++;
    curl_multi_socket_action(multi->curl, fd, mask, &running);
    multi->busy = false;
    multi->on_step(multi->owner);
}

void http_multi_resume(struct http_multi *multi, CURL *easy)
{
    multi->busy = true;
    multi->steps++;
    curl_easy_pause(easy, CURLPAUSE_CONT);
    multi->busy = false;
    multi->on_step(multi->owner);
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
    http_multi_step(watch->multi, watch->fd, mask);
}

static void on_watch_closed(uv_handle_t *handle)
{
    struct socket_watch *watch = handle->data;
    struct http_multi *multi = watch->multi;

    free(watch);
    handle_closed(multi);
}

static struct socket_watch *watch_new(struct http_multi *multi,
                                      curl_socket_t fd)
{
    struct socket_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        abort();
    watch->multi = multi;
    watch->fd = fd;
    if (uv_poll_init_socket(multi->loop, &watch->poll, fd) != 0) {
        free(watch);
        return NULL;
    }
    watch->poll.data = watch;
    multi->handles++;
    curl_multi_assign(multi->curl, fd, watch);
    return watch;
}

/* curl begins or ends to watch a socket. A watch that ends is closed at once:
 * the number of the socket may belong to a new one in the next moment. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *owner,
                     void *socket_owner)
{
    struct http_multi *multi = owner;
    struct socket_watch *watch = socket_owner;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watch)
            uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
        curl_multi_assign(multi->curl, fd, NULL);
        return 0;
    }
    if (!watch)
        watch = watch_new(multi, fd);
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
    http_multi_step(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* Never steps from here, not even for 0 ms: this is called from inside curl. */
static int on_timer(CURLM *curl, long wait_ms, void *owner)
{
    struct http_multi *multi = owner;

    (void)curl;
    if (wait_ms < 0)
        uv_timer_stop(&multi->timer);
    else
        uv_timer_start(&multi->timer, on_timeout, (uint64_t)wait_ms, 0);
    return 0;
}

bool http_multi_open(struct http_multi *multi, uv_loop_t *loop,
                     void (*on_step)(void *owner), void *owner)
{
    *multi = (struct http_multi){
        .loop = loop, .on_step = on_step, .owner = owner, .handles = 1
    };
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return false;
    multi->curl = curl_multi_init();
    if (!multi->curl) {
        curl_global_cleanup();
        return false;
    }
    uv_timer_init(loop, &multi->timer);
    multi->timer.data = multi;
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi->curl, CURLMOPT_SOCKETDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi->curl, CURLMOPT_TIMERDATA, multi);
    curl_multi_setopt(multi->curl, CURLMOPT_MAX_CONCURRENT_STREAMS,
                      (long)MAX_STREAMS);
    return true;
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

void http_multi_close(struct http_multi *multi, void (*on_closed)(void *owner))
{
    assert(!multi->busy);
    multi->on_closed = on_closed;
    curl_multi_cleanup(multi->curl); /* gives up its sockets through us */
    uv_close((uv_handle_t *)&multi->timer, on_timer_closed);
    curl_global_cleanup();
}
