/* library.h - a redis-server with the library in it, and a connection to it, of
 * one C test. cmocka.h comes before it. */
#ifndef TESTS_UNIT_REDIS_LIBRARY_H
#define TESTS_UNIT_REDIS_LIBRARY_H

#include "schemas/redis/conn.h"
#include "schemas/redis/transition.h"
#include "tests/unit/redis/server.h"

#define ID "019aa5c8-1b2c-7000-8abc-0123456789ab"
#define EMPTY ((struct view){ NULL, 0 })

static struct server server;
static struct conn *conn;
static struct names names;

/* Sends, finishes the command, gives the reply. */
static inline redisReply *call(struct command *command)
{
    struct err err;
    redisReply *reply = conn_call(conn, command, 5000, &err);

    if (!reply)
        fail_msg("%s %s: %s", command->argv[0],
                 command->argc > 1 ? command->argv[1] : "", err.text);
    command_finish(command);
    return reply;
}

static inline void drop(struct command *command)
{
    freeReplyObject(call(command));
}

static inline int library_start(void **state)
{
    struct address address;
    struct command command;

    (void)state;
    server_start(&server, 0, NULL);
    assert_true(address_parse(&address, view_of(server.url), NULL));
    assert_true(names_init(&names, "quern:", NULL));
    conn = conn_new(&address, 0, "test");
    address_finish(&address);
    transition_load_command(&command);
    drop(&command);
    return 0;
}

static inline int library_stop(void **state)
{
    (void)state;
    conn_free(conn);
    server_stop(&server);
    return 0;
}

#endif
