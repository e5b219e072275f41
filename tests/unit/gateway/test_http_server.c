/* test_http_server.c - a place that is taken is named whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "producer/gateway/http/http_server.h"

struct fixture {
    uv_loop_t loop;
    struct http_server *server;
};

static void on_drained(void *owner)
{
    struct fixture *fixture = owner;

    http_server_free(fixture->server);
}

static int open_server(void **state)
{
    static struct fixture fixture;
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_handler handler = { 0 };

    uv_loop_init(&fixture.loop);
    fixture.server = http_server_new(&fixture.loop, &limits, &handler);
    *state = &fixture;
    return 0;
}

static int close_server(void **state)
{
    struct fixture *fixture = *state;

    http_server_drain(fixture->server, 0, on_drained, fixture);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&fixture->loop);
}

static void is_taken(struct http_server *server, const char *address,
                     const char *pattern)
{
    struct err err = { 0 };
    char wanted[100];
    uint16_t port;

    if (!http_server_listen_tcp(server, address, 0, &port, &err)) {
        print_message("%s: skipped\n", err.text); /* this host has no v6 */
        return;
    }
    snprintf(wanted, sizeof(wanted), "cannot listen on %s:%u: ", pattern, port);
    assert_false(http_server_listen_tcp(server, address, port, NULL, &err));
    assert_memory_equal(err.text, wanted, strlen(wanted));
}

static void a_port_that_is_taken_is_named(void **state)
{
    struct fixture *fixture = *state;

    is_taken(fixture->server, "127.0.0.1", "127.0.0.1");
    is_taken(fixture->server, "::1", "[::1]");
}

static void a_path_that_is_taken_is_named(void **state)
{
    struct fixture *fixture = *state;
    char folder[] = "/tmp/http-XXXXXX", path[64], wanted[100];
    struct err err = { 0 };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/http.sock", folder);
    snprintf(wanted, sizeof(wanted), "cannot listen on %s: ", path);
    assert_true(http_server_listen_unix(fixture->server, path, &err));
    assert_false(http_server_listen_unix(fixture->server, path, &err));
    assert_memory_equal(err.text, wanted, strlen(wanted));
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_port_that_is_taken_is_named,
                                        open_server, close_server),
        cmocka_unit_test_setup_teardown(a_path_that_is_taken_is_named,
                                        open_server, close_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
