/* Requests to the proxy: what is passed on, and as what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "executor/proxy/request.h"

#define GET(address) "GET " address " HTTP/1.1\r\n"
#define END "Connection: close\r\n\r\n"

static const struct {
    const char *name;
    const char *head;
    const char *host; /* NULL: refused */
    uint16_t port;
    const char *passed_on;
    uint64_t body_bytes;
} rows[] = {
    { "a tunnel", "CONNECT A.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", "a.org", 443,
      "", 0 },
    { "a tunnel's length says nothing",
      "CONNECT a.org:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "a.org", 443,
      "", 0 },
    { "an address", GET("http://a.org/b?c=d") "\r\n", "a.org", 80,
      "GET /b?c=d HTTP/1.1\r\nHost: a.org\r\n" END, 0 },
    { "another port", GET("HTTP://a.org:8080") "\r\n", "a.org", 8080,
      "GET / HTTP/1.1\r\nHost: a.org:8080\r\n" END, 0 },
    { "a question without a path", GET("http://a.org?q") "\r\n", "a.org", 80,
      "GET /?q HTTP/1.1\r\nHost: a.org\r\n" END, 0 },
    { "IPv6", GET("http://[2606:4700:0::1]:81/") "\r\n", "2606:4700::1", 81,
      "GET / HTTP/1.1\r\nHost: [2606:4700::1]:81\r\n" END, 0 },
    { "an old client", "GET http://a.org/ HTTP/1.0\r\n\r\n", "a.org", 80,
      "GET / HTTP/1.0\r\nHost: a.org\r\n" END, 0 },
    { "a body", "POST http://a.org/ HTTP/1.1\r\ncontent-length:  007\r\n\r\n",
      "a.org", 80,
      "POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 7\r\n" END, 7 },
    { "only what concerns the host is passed on",
      GET("http://a.org/") "Host: b.org\r\nAccept: */*\r\nTE: trailers\r\n"
                           "Connection: x-one , X-Two\r\nX-One: 1\r\n"
                           "x-two: 2\r\nX-Three: 3\r\nKeep-Alive: 5\r\n"
                           "Proxy-Connection: keep-alive\r\n\r\n",
      "a.org", 80,
      "GET / HTTP/1.1\r\nHost: a.org\r\nAccept: */*\r\nX-Three: 3\r\n" END, 0 },
    { "a value may be empty", GET("http://a.org/") "A:\r\nB: \t \r\n\r\n",
      "a.org", 80, "GET / HTTP/1.1\r\nHost: a.org\r\nA: \r\nB: \r\n" END, 0 },
    { "no host", GET("http:///x") "\r\n", NULL, 0, NULL, 0 },
    { "a port alone", GET("http://:80/") "\r\n", NULL, 0, NULL, 0 },
    { "a method that is none", "G(T http://a.org/ HTTP/1.1\r\n\r\n", NULL, 0,
      NULL, 0 },
    { "two spaces", "GET  http://a.org/ HTTP/1.1\r\n\r\n", NULL, 0, NULL, 0 },
    { "an address with a space", GET("http://a.org/b c") "\r\n", NULL, 0, NULL,
      0 },
    { "a length beyond all",
      GET("http://a.org/") "Content-Length: 9999999999999999\r\n\r\n", NULL, 0,
      NULL, 0 },
    { "a list of lengths", GET("http://a.org/") "Content-Length: 5, 5\r\n\r\n",
      NULL, 0, NULL, 0 },
    { "chunks in another spelling",
      GET("http://a.org/") "tRANSFER-eNCODING: xchunked\r\n\r\n", NULL, 0, NULL,
      0 },
    { "an empty name", GET("http://a.org/") ": x\r\n\r\n", NULL, 0, NULL, 0 },
};

static void requests_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct proxy_request request;
        struct err err;
        int status = 0;
        bool good =
            request_parse(&request, view_of(rows[i].head), &status, &err);
        if (good != (rows[i].host != NULL) || (!good && status < 400))
            fail_msg("%s: %s", rows[i].name, good ? "taken" : err.text);
        if (good && (strcmp(request.host, rows[i].host) != 0 ||
                     request.port != rows[i].port ||
                     request.body_bytes != rows[i].body_bytes ||
                     !view_is(buf_view(&request.head), rows[i].passed_on)))
            fail_msg("%s: %s:%u \"%.*s\"", rows[i].name, request.host,
                     request.port, VIEW_ARG(buf_view(&request.head)));
        request_finish(&request);
    }
}

static void a_head_ends_at_its_empty_line(void **state)
{
    (void)state;
    assert_int_equal(request_head_bytes(VIEW("")), 0);
    assert_int_equal(request_head_bytes(VIEW("GET x\r\n\r")), 0);
    assert_int_equal(request_head_bytes(VIEW("GET x\n\n")), 0);
    assert_int_equal(request_head_bytes(VIEW("GET x\r\n\r\nbody\r\n\r\n")), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read),
        cmocka_unit_test(a_head_ends_at_its_empty_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
