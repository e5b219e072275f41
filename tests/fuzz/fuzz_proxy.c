/* fuzz_proxy.c - whatever a box sends, the host that is asked and the request
 * that it gets are of one piece. */
#include <string.h>

#include "executor/proxy/request.h"
#include "tests/fuzz/fuzz.h"

static size_t count_of(struct view text, const char *what)
{
    size_t count = 0, len = strlen(what);
    for (size_t at = 0; at + len <= text.len; at++)
        count += memcmp(text.data + at, what, len) == 0;
    return count;
}

/* The host is one that a list could name, in one spelling. */
static void check_host(const struct proxy_request *request)
{
    char again[MAX_HOST_BYTES + 3], name[MAX_HOST_BYTES + 1];
    uint16_t port = 0;
    struct err err;
    bool six = strchr(request->host, ':');
    size_t len = strlen(request->host);
    memcpy(again + six, request->host, len);
    if (six) {
        again[0] = '[';
        again[++len] = ']';
        len++;
    }
    MUST(host_parse((struct view){ again, len }, name, &port, &err));
    MUST(strcmp(name, request->host) == 0 && request->port > 0);
}

static void check_head(const struct proxy_request *request)
{
    struct view head = buf_view(&request->head);
    MUST(buf_ok(&request->head));
    if (request->tunnel) {
        MUST(head.len == 0 && request->body_bytes == 0);
        return;
    }
    MUST(request_head_bytes(head) == head.len);
    MUST(count_of(head, "\n") == count_of(head, "\r\n"));
    MUST(count_of(head, "\r") == count_of(head, "\r\n"));
    MUST(count_of(head, "\r\nHost: ") == 1);
    MUST(count_of(head, "\r\nConnection: close\r\n") == 1);
    MUST(!memchr(head.data, '\0', head.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hosts hosts;
    struct view bytes = { (const char *)data, size };
    struct proxy_request request;
    struct err err;
    int status = 0;
    size_t head = request_head_bytes(bytes);

    if (hosts_parse(&hosts, bytes, &err))
        MUST(hosts.count > 0 && hosts.count <= MAX_HOSTS);
    if (head == 0 || head > MAX_HEAD_BYTES)
        return 0;
    if (request_parse(&request, (struct view){ bytes.data, head }, &status,
                      &err)) {
        check_host(&request);
        check_head(&request);
    } else {
        MUST(status >= 400 && status < 600);
    }
    request_finish(&request);
    return 0;
}
