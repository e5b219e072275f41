/* link.c - one connection out of a box: its life, and its request.
 *
 * Bytes from the box are hostile. Until the request is read and allowed,
 * nothing of it leads to a look-up or a connection. A callback may end the
 * link: after each call that may do so, the state is looked at again. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/base/log.h"
#include "executor/proxy/link_steps.h"

static const struct machine_state states[] = {
    [READING] = { "reading", TO(WAITING) | TO(LINGERING) | TO(ENDED),
                  .limit_ms = 10000 },
    [WAITING] = { "waiting", TO(RESOLVING) | TO(LINGERING) | TO(ENDED),
                  .limit_ms = 20000 },
    [RESOLVING] = { "resolving", TO(CONNECTING) | TO(LINGERING) | TO(ENDED),
                    .limit_ms = 15000 },
    [CONNECTING] = { "connecting", TO(PASSING) | TO(LINGERING) | TO(ENDED),
                     .limit_ms = 10000 },
    [PASSING] = { "passing", TO(LINGERING) | TO(ENDED), .limit_ms = 120000 },
    [LINGERING] = { "lingering", TO(ENDED), .limit_ms = 2000 },
    [ENDED] = { .name = "ended" },
};

/* Each state has its time; so a box cannot hold a link open for nothing. */
static void on_entered(void *owner)
{
    struct proxy_link *link = owner;
    if (link->machine.state != ENDED)
        link_prolong(link);
}

static const struct machine_kind kind = {
    .name = "a link",
    .states = states,
    .count = sizeof(states) / sizeof(states[0]),
    .entered = on_entered,
};

void link_prolong(struct proxy_link *link)
{
    alarm_set(link->deadline, machine_limit_ms(&link->machine));
}

struct proxy_link *link_next(const struct proxy_link *link)
{
    return link->next;
}

/* -------------------------------------------------------------- life cycle */

void link_release(struct proxy_link *link)
{
    if (--link->pending > 0)
        return;
    buf_finish(&link->head);
    request_finish(&link->request);
    uv_freeaddrinfo(link->addresses);
    free(link);
}

static void on_side_closed(uv_handle_t *handle)
{
    struct side *side = handle->data;
    link_release(side->link);
}

void side_close(struct side *side, uv_close_cb callback)
{
    if (!side->open)
        return;
    side->open = false;
    side->link->pending++;
    uv_close((uv_handle_t *)&side->tcp, callback);
}

static void unlink_from_door(struct proxy_link *link)
{
    struct proxy_link **at = &link->door->links;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
}

/* From here on every callback that still comes finds ENDED, and only lets go of
 * the link. What was read and not written yet is lost. */
void link_end(struct proxy_link *link)
{
    if (link->machine.state == ENDED)
        return;
    machine_go(&link->machine, ENDED);
    unlink_from_door(link);
    door_leave(link->door, link->admitted);
    alarm_free(link->deadline);
    side_close(&link->client, on_side_closed);
    side_close(&link->server, on_side_closed);
    link_release(link);
}

static void side_init(struct side *side, struct proxy_link *link,
                      struct side *other)
{
    side->link = link;
    side->other = other;
    side->tcp.data = side;
    side->write.data = side;
    side->shutdown.data = side;
}

void side_open(struct side *side)
{
    side->open = true;
    uv_tcp_init(side->link->door->listener.loop, &side->tcp);
}

/* ---------------------------------------------------------------- answers */

void link_log(const struct proxy_link *link, const char *what, const char *text)
{
    log_line(what, link->door->name, "%s", text);
}

/* The sentence is the reason of the status line as well: it is all that many
 * clients show of a tunnel that they did not get. It goes to the client as if
 * the server side had sent it: that side is not in use.
 *
 * The link lingers, and what the client still sends is read and dropped: if it
 * were closed with bytes unread, the kernel would reset the connection, and the
 * client might lose the answer. */
static void proxy_link_answer(struct proxy_link *link, int status,
                              const char *sentence)
{
    buf_clear(&link->head);
    buf_printf(&link->head,
               "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\n"
               "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
               status, sentence, strlen(sentence) + 1, sentence);
    machine_go(&link->machine, LINGERING);
    side_pass(&link->server, buf_view(&link->head));
    if (link->machine.state == LINGERING)
        side_shut(&link->client);
    link_listen(link);
}

void link_refuse(struct proxy_link *link, int status, const char *format, ...)
{
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    for (char *at = sentence; *at; at++) /* it may quote what the box sent */
        if (*at < ' ' || *at >= 0x7f)
            *at = '?';
    link_log(link, "proxy.refused", sentence);
    proxy_link_answer(link, status, sentence);
}

/* ---------------------------------------------------------------- reading */

/* What came with the head goes out behind it: to the host of a plain request
 * no more than its body. */
static void keep_rest(struct proxy_link *link, size_t head_bytes)
{
    struct view rest = { link->head.data + head_bytes,
                         link->head.len - head_bytes };
    if (!link->request.tunnel) {
        if (rest.len > link->request.body_bytes)
            rest.len = (size_t)link->request.body_bytes;
        link->body_left = link->request.body_bytes - rest.len;
    }
    buf_add(&link->request.head, rest);
}

/* May it go out? Each refusal tells the model what it could do instead. */
static void proxy_link_judge(struct proxy_link *link)
{
    struct door *door = link->door;
    const struct proxy_request *request = &link->request;
    char allowed[160];
    hosts_describe(&door->policy->hosts, allowed, sizeof(allowed));
    if (door_is_used_up(door))
        link_refuse(link, 403,
                    "this session has used up its %llu MiB of traffic",
                    (unsigned long long)door->policy->most_bytes >> 20);
    else if (!hosts_allow(&door->policy->hosts, request->host, request->port))
        link_refuse(link, 403,
                    "%.100s port %u is not allowed here; code may reach: %s",
                    request->host, request->port, allowed);
    else if (!(link->admitted = door_admit(door)))
        link_refuse(link, 503,
                    "this session has %d connections open: close some",
                    MAX_LINKS);
    else {
        machine_go(&link->machine, WAITING);
        link_resume(link);
    }
}

void link_take_head(struct proxy_link *link, struct view bytes)
{
    struct err err;
    int status = 400;
    /* The empty line may have come in two pieces; what is before it was looked
     * at already. */
    size_t seen = link->head.len < 3 ? 0 : link->head.len - 3;
    buf_add(&link->head, bytes);
    size_t end = request_head_bytes(
        (struct view){ link->head.data + seen, link->head.len - seen });
    size_t total = end ? seen + end : link->head.len;
    if (total > MAX_HEAD_BYTES) {
        link_refuse(link, 431, "the head of a request has %d bytes at most",
                    MAX_HEAD_BYTES);
    } else if (end) {
        bool good = request_parse(&link->request,
                                  (struct view){ link->head.data, total },
                                  &status, &err);
        if (good) {
            keep_rest(link, total);
            proxy_link_judge(link);
        } else {
            link_refuse(link, status, "%s", err.text);
        }
    }
}

/* A look-up cannot be taken back: it goes on in its thread, counts among the
 * door's, and keeps the link's memory until it comes back. */
static void on_deadline(void *owner)
{
    struct proxy_link *link = owner;
    switch (link->machine.state) {
    case READING:
        link_refuse(link, 408, "no whole request came within %llu s",
                    (unsigned long long)machine_limit_ms(&link->machine) /
                        1000);
        break;
    case WAITING:
    case RESOLVING:
        link_refuse(link, 504, "%s could not be resolved in time",
                    link->request.host);
        break;
    case CONNECTING:
        link_give_up(link);
        break;
    case PASSING:
    case LINGERING:
        link_end(link);
        break;
    case ENDED:
        break;
    }
}

void link_new(struct door *door)
{
    struct proxy_link *link = allocate(sizeof(*link));
    link->door = door;
    link->pending = 1;
    link->next = door->links;
    door->links = link;
    machine_init(&link->machine, &kind, link, READING);
    link->deadline = alarm_new(door->listener.loop, on_deadline, link);
    link_prolong(link);
    buf_init(&link->head, MAX_HEAD_BYTES + PASS_BYTES);
    link->lookup.data = link;
    link->connect.data = link;
    side_init(&link->client, link, &link->server);
    side_init(&link->server, link, &link->client);
    side_open(&link->client);
    if (uv_accept((uv_stream_t *)&door->listener,
                  (uv_stream_t *)&link->client.tcp) == 0)
        link_listen(link);
    else
        link_end(link);
}
