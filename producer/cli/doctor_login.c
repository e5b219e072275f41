/* doctor_login.c - what this login may do, as Redis itself says. */
#include <stdio.h>
#include <string.h>

#include "producer/cli/doctor.h"

enum { MAX_WORDS_ASKED = 8 };

/* DRYRUN answers OK, or in a sentence that names what is missing. */
enum doctor_right doctor_may(struct doctor *doctor, char *why, size_t size,
                             int count, const char *const *words)
{
    const char *asked[3 + MAX_WORDS_ASKED] = { "ACL", "DRYRUN" };
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *user = ASK(doctor, &err, "ACL", "WHOAMI");
    CLEANUP(cleanup_answer) redisReply *answer = NULL;

    if (user && user->type == REDIS_REPLY_STRING && count <= MAX_WORDS_ASKED) {
        asked[2] = user->str;
        memcpy(asked + 3, words, (size_t)count * sizeof(*words));
        answer = doctor_ask(doctor, &err, 3 + count, asked);
    }
    if (why)
        snprintf(why, size, "%s", answer ? answer->str : err.text);
    if (!answer || !answer->str)
        return RIGHT_UNKNOWN;
    return strcmp(answer->str, "OK") == 0 ? RIGHT_GIVEN : RIGHT_REFUSED;
}

/* Whether Redis answers without a login. */
static bool doctor_server_is_open(struct doctor *doctor)
{
    struct err err = { 0 };
    struct command ping;
    struct address address;
    struct conn *conn;
    redisReply *pong;

    if (!doctor->address.user && !doctor->address.password)
        return true;
    address_without_login(&address, &doctor->address);
    conn = conn_new(&address, names_slot(&doctor->names, 0), "doctor");
    command_init(&ping, "PING");
    pong = conn_call(conn, &ping, DOCTOR_CALL_MS, &err);
    command_finish(&ping);
    bool answers = pong;

    cleanup_answer(&pong);
    conn_free(conn);
    address_finish(&address);
    return answers;
}

void check_login(struct doctor *doctor)
{
    struct err err = { 0 };
    CLEANUP(cleanup_answer)
    redisReply *user = ASK(doctor, &err, "ACL", "WHOAMI");
    const char *name =
        user ? user->str : "a user that may not ask for its name";

    if (doctor_server_is_open(doctor))
        find(doctor, WARNING, "login",
             "deploy/redis/users.acl has a user for each role",
             "%s; this Redis lets everybody in without a password", name);
    else
        find(doctor, FINE, "login", NULL, "%s", name);
}

/* Events of jobs and requests to consumers go through channels, which since
 * Redis 7 a user must be given apart from keys. */
void check_channels(struct doctor *doctor)
{
    struct key channel =
        names_of_root(&doctor->names, doctor->partition, "events:doctor");
    const char *const words[] = { "PUBLISH", channel.text, "" };
    char why[256];

    switch (doctor_may(doctor, why, sizeof(why), 3, words)) {
    case RIGHT_GIVEN:
        find(doctor, FINE, "channels", NULL, "this login may use them");
        break;
    case RIGHT_UNKNOWN:
        find(doctor, UNSEEN, "channels", remedy_of(doctor, why),
             "whether this login may use them: %s", why);
        break;
    case RIGHT_REFUSED:
        find(doctor, strstr(why, "channel") ? WARNING : UNSEEN, "channels",
             remedy_of(doctor, why), "%s: %s",
             strstr(why, "channel")
                 ? "this login may not use them, so its jobs are cancelled "
                   "late and its events come late"
                 : "this login may not try",
             why);
        break;
    }
}
