/* test_tls.c - rediss:// trusts whom the machine trusts, in the host's name.
 *
 * Where hiredis has no TLS there is nothing to test: test_address.c sees that
 * the URL is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <cmocka.h>

#include "schemas/redis/conn.h"
#include "schemas/redis/link.h"
#include "tests/unit/redis/server.h"

static void trust(const struct server *server)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/cert.pem", server->folder);
    setenv("SSL_CERT_FILE", path, 1);
}

static struct address address_of(const struct server *server)
{
    struct address address;
    char url[64];

    snprintf(url, sizeof(url), "rediss://127.0.0.1:%d", server->port);
    assert_true(address_parse(&address, view_of(url), NULL));
    return address;
}

/* NULL: it worked. Else the text of the error, until the next call. */
static const char *ping(const struct server *server, size_t bytes)
{
    static struct err err;
    struct address address = address_of(server);
    struct conn *conn = conn_new(&address, 0, "test");
    struct command command;
    char *data = calloc(1, bytes);

    command_init(&command, "ECHO");
    command_add(&command, (struct view){ data, bytes });
    redisReply *reply = conn_call(conn, &command, 5000, &err);
    bool ok = reply && reply->len == bytes;
    freeReplyObject(reply);
    command_finish(&command);
    address_finish(&address);
    conn_free(conn);
    free(data);
    return ok ? NULL : err.text;
}

static void a_trusted_server_in_its_own_name(void **state)
{
    (void)state;
    struct server server;

    server_start_tls(&server, free_port(), "IP:127.0.0.1");
    unsetenv("SSL_CERT_FILE");
    const char *text = ping(&server, 1);
    assert_non_null(text);
    if (!strstr(text, "certificate"))
        fail_msg("%s", text);
    trust(&server);
    assert_null(ping(&server, 1));
    assert_null(ping(&server, 5 << 20));
    server_stop(&server);
}

static void a_trusted_server_in_the_name_of_another(void **state)
{
    (void)state;
    struct server server;

    server_start_tls(&server, free_port(), "DNS:elsewhere.example");
    trust(&server);
    const char *text = ping(&server, 1);
    assert_non_null(text);
    server_stop(&server);
}

static struct link *one_link;

static void on_done(void *owner, const redisReply *reply, const struct err *why)
{
    (void)why;
    *(size_t *)owner = reply ? reply->len : 0;
    link_free(one_link, NULL, NULL);
}

static void on_ready(void *owner)
{
    static char data[3 << 20];
    struct command command;

    command_init(&command, "ECHO");
    command_add(&command, (struct view){ data, sizeof(data) });
    assert_true(link_send(one_link, &command, 5000, on_done, owner));
    command_finish(&command);
}

static void the_link_speaks_it_too(void **state)
{
    (void)state;
    struct link_events events = { .on_ready = on_ready };
    struct server server;
    uv_loop_t loop;
    size_t answered = 0;

    server_start_tls(&server, free_port(), "IP:127.0.0.1");
    trust(&server);
    struct address address = address_of(&server);
    uv_loop_init(&loop);
    one_link = link_new(&loop, &address, 0, "test", events, &answered);
    link_open(one_link);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(answered, 3 << 20);
    assert_int_equal(uv_loop_close(&loop), 0);
    address_finish(&address);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_in_its_own_name),
        cmocka_unit_test(a_trusted_server_in_the_name_of_another),
        cmocka_unit_test(the_link_speaks_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
