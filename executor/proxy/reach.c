/* reach.c - from a name to a connection.
 *
 * A name is looked up once. Of its addresses, those of the public internet are
 * tried, and the very bytes that were checked are connected to. An allowed name
 * that resolves to an address of the host, its network or its cloud's metadata
 * (by mistake, or because its owner is hostile) leads nowhere. */
#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/proxy/link_steps.h"
#include "schemas/message/internet.h"

enum { MAX_TRIES = 4 }; /* addresses of one name that are tried */

/* ------------------------------------------------------------- connecting */

/* Both sides are there. The client of a tunnel is told, and the server gets
 * what came behind the head; a plain request begins with its head, written
 * anew. */
static void begin_passing(struct proxy_link *link)
{
    static const char established[] =
        "HTTP/1.1 200 Connection established\r\n\r\n";
    struct view opening = buf_view(&link->request.head);
    machine_go(&link->machine, PASSING);
    uv_tcp_nodelay(&link->client.tcp, 1);
    uv_tcp_nodelay(&link->server.tcp, 1);
    if (link->request.tunnel)
        side_pass(&link->server, view_of(established));
    if (link->machine.state == PASSING && opening.len > 0)
        side_pass(&link->client, opening);
    link_listen(link);
}

static void try_next(struct proxy_link *link);

/* The next address needs the same handle, which is free only now. */

static void on_server_closed(uv_handle_t *handle)
{
    struct side *side = handle->data;
    struct proxy_link *link = side->link;
    if (link->machine.state == CONNECTING)
        try_next(link);
    link_release(link);
}

/* UV_ECANCELED: link_give_up() has closed it, and failure is the timeout. */
static void on_connected(uv_connect_t *connect, int status)
{
    struct proxy_link *link = connect->data;
    if (link->machine.state == CONNECTING && status < 0) {
        if (status != UV_ECANCELED)
            link->failure = status;
        side_close(&link->server, on_server_closed);
    } else if (link->machine.state == CONNECTING) {
        begin_passing(link);
    }
    link_release(link);
}

static void log_address(const struct proxy_link *link,
                        const struct addrinfo *info)
{
    char address[INET6_ADDRSTRLEN] = "",
         text[SENTENCE_BYTES + INET6_ADDRSTRLEN];
    if (info->ai_family == AF_INET)
        uv_ip4_name((const void *)info->ai_addr, address, sizeof(address));
    else
        uv_ip6_name((const void *)info->ai_addr, address, sizeof(address));
    snprintf(text, sizeof(text), "%s %s port %u at %s",
             link->request.tunnel ? "tunnel to" : "request to",
             link->request.host, link->request.port, address);
    link_log(link, "proxy.connects", text);
}

static void connect_to(struct proxy_link *link, const struct addrinfo *info)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } to = { 0 };
    assert(info->ai_addrlen <= sizeof(to));
    memcpy(&to, info->ai_addr, info->ai_addrlen);
    if (to.any.sa_family == AF_INET)
        to.four.sin_port = htons(link->request.port);
    else
        to.six.sin6_port = htons(link->request.port);
    log_address(link, info);
    link_prolong(link);
    link->failure = UV_ETIMEDOUT; /* unless something else is heard */
    side_open(&link->server);
    if (uv_tcp_connect(&link->connect, &link->server.tcp, &to.any,
                       on_connected) == 0)
        link->pending++;
    else
        side_close(&link->server, on_server_closed);
}

/* Of the addresses that the name has, only those of the public internet. */
static void try_next(struct proxy_link *link)
{
    const struct addrinfo *info = link->address;
    while (info && !internet_has(info->ai_addr))
        info = info->ai_next;
    if (info && link->tries++ < MAX_TRIES) {
        link->address = info->ai_next;
        connect_to(link, info);
    } else if (link->tries > 0) {
        link_refuse(link, 502, "%s port %u cannot be reached: %s",
                    link->request.host, link->request.port,
                    uv_strerror(link->failure));
    } else {
        link_refuse(
            link, 403,
            "%s has no address of the public internet, and nothing else may "
            "be reached",
            link->request.host);
    }
}

void link_give_up(struct proxy_link *link)
{
    side_close(&link->server, on_server_closed);
}

/* -------------------------------------------------------------- resolving */

static void on_looked_up(uv_getaddrinfo_t *lookup, int status,
                         struct addrinfo *addresses)
{
    struct proxy_link *link = lookup->data;
    link->addresses = addresses;
    link->address = addresses;
    door_looked_up(link->door);
    if (link->machine.state == RESOLVING && status < 0) {
        link_refuse(link, 502, "%s is not known: %s", link->request.host,
                    uv_strerror(status));
    } else if (link->machine.state == RESOLVING) {
        machine_go(&link->machine, CONNECTING);
        try_next(link);
    }
    link_release(link);
}

/* In a thread of libuv's pool, which all doors share (main.c): MAX_LOOKUPS
 * keeps one session from taking all of them. */
static void look_up(struct proxy_link *link)
{
    static const struct addrinfo hints = {
        .ai_flags = AI_ADDRCONFIG,
        .ai_socktype = SOCK_STREAM,
    };
    machine_go(&link->machine, RESOLVING);
    link->door->lookups++;
    link->pending++;
    if (uv_getaddrinfo(link->client.tcp.loop, &link->lookup, on_looked_up,
                       link->request.host, NULL, &hints) < 0)
        abort(); /* no memory */
}

void link_resume(struct proxy_link *link)
{
    if (link->machine.state == WAITING && link->door->lookups < MAX_LOOKUPS)
        look_up(link);
    else
        link_listen(link);
}
