/* resolve.c - the address of a host, found without holding up the loop. */
#include "schemas/redis/resolve.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

struct resolve {
    uv_getaddrinfo_t request;
    unsigned int attempt;
    resolve_done *done; /* NULL: cancelled */
    void *owner;
};

bool resolve_is_numeric(const char *host)
{
    struct in_addr address;

    return strchr(host, ':') || inet_pton(AF_INET, host, &address) == 1;
}

static const struct addrinfo *nth(const struct addrinfo *list, unsigned int n)
{
    unsigned int count = 0;

    for (const struct addrinfo *at = list; at; at = at->ai_next)
        count++;
    for (n %= count; n > 0; n--)
        list = list->ai_next;
    return list;
}

static void print(const struct addrinfo *address, char *text, size_t size)
{
    if (address->ai_family == AF_INET)
        uv_ip4_name((const void *)address->ai_addr, text, size);
    else
        uv_ip6_name((const void *)address->ai_addr, text, size);
}

static bool no_address(struct err *err, int status)
{
    return err_set(err, ERR_RETRY, "redis_unavailable", "no address: %s",
                   status < 0 ? uv_strerror(status) : "none found");
}

static void on_addresses(uv_getaddrinfo_t *request, int status,
                         struct addrinfo *list)
{
    struct resolve *resolve = request->data;
    char ip[RESOLVE_TEXT] = "";
    struct err why;

    if (status == 0 && list)
        print(nth(list, resolve->attempt), ip, sizeof(ip));
    if (!ip[0])
        no_address(&why, status);
    if (resolve->done)
        resolve->done(resolve->owner, ip[0] ? ip : NULL, &why);
    uv_freeaddrinfo(list);
    free(resolve);
}

struct resolve *resolve_start(uv_loop_t *loop, const char *host,
                              unsigned int attempt, resolve_done *done,
                              void *owner, struct err *err)
{
    static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct resolve *resolve = calloc(1, sizeof(*resolve));

    if (!resolve)
        abort();
    resolve->attempt = attempt;
    resolve->done = done;
    resolve->owner = owner;
    resolve->request.data = resolve;
    int failed = uv_getaddrinfo(loop, &resolve->request, on_addresses, host,
                                NULL, &hints);
    if (!failed)
        return resolve;
    no_address(err, failed);
    free(resolve);
    return NULL;
}

void resolve_cancel(struct resolve *resolve)
{
    if (!resolve)
        return;
    resolve->done = NULL;
    uv_cancel((uv_req_t *)&resolve->request); /* too late when it runs */
}
