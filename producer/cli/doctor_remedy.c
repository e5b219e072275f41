/* doctor_remedy.c - what to do about an error of Redis, by words of its text.
 * The first row that fits counts. */
#include <stdio.h>
#include <string.h>

#include "producer/cli/doctor.h"

static const struct {
    const char *text; /* that an error has */
    const char *remedy;
} remedies[] = {
    { "MISCONF",
      "Redis cannot write its disk: see its log, make room or correct "
      "the folder's rights\n"
      "CONFIG SET stop-writes-on-bgsave-error no, if data that is not on disk "
      "may be lost" },
    { "OOM", "raise maxmemory (CONFIG SET maxmemory), or remove jobs that "
             "nobody needs: quern queue purge, quern dead rm" },
    { "READONLY", "this is a replica: name the master in the URL, or ask by "
                  "redis+sentinel://" },
    { "NOREPLICAS", "bring its replicas back, or lower min-replicas-to-write" },
    { "LOADING", "wait until Redis has read its data" },
    { "has no functions",
      "use a Redis 7.0 or later, or Valkey, that has them: deploy/REDIS.md" },
    { "unknown command", "this service does not have the command: "
                         "deploy/REDIS.md says which do without" },
    { "unknown subcommand", "this service does not have the command: "
                            "deploy/REDIS.md says which do without" },
    { "NOPERM", "this login lacks a right: doctor needs the one of operators, "
                "user \"operator\" in deploy/redis/users.acl" },
    { "NOAUTH", "give a login: redis://USER:PASSWORD@HOST:PORT" },
    { "WRONGPASS", "the user or its password is wrong: "
                   "redis://USER:PASSWORD@HOST:PORT" },
    { "invalid password", "the user or its password is wrong: "
                          "redis://USER:PASSWORD@HOST:PORT" },
    { "DENIED", "Redis is in protected mode: give it a password, or bind it to "
                "this host" },
    { "ermission denied", "this user may not open the socket: put it into the "
                          "group of the socket (unixsocketperm 770), or take "
                          "the user that may" },
    { "o such file",
      "start Redis, or name its socket: --redis-url, REDIS_URL" },
    { "onnection refused", "start Redis, or say where it is: --redis-url, "
                           "REDIS_URL" },
};

/* The rule of the ACL that is missing; "": the error is another one. Of all
 * versions of Redis: "no permissions to run the 'config|get' command", "... to
 * access a key", "... to access the 'x' channel". */
static void rule_of(const char *error, char *rule, size_t size)
{
    const char *run = strstr(error, "to run the '");
    bool is_access = strstr(error, "o permissions to access");

    *rule = '\0';
    if (run) {
        run += strlen("to run the '");
        snprintf(rule, size, "+%.*s", (int)strcspn(run, "'"), run);
    } else if (is_access) {
        snprintf(rule, size, "%s",
                 strstr(error, "channel") ? "'&quern:*'" : "'~quern:*'");
    }
}

const char *remedy_of(const struct doctor *doctor, const char *error)
{
    static char text[320];
    char rule[64];

    rule_of(error, rule, sizeof(rule));
    if (*rule) {
        const char *user = doctor->address.user;
        snprintf(
            text, sizeof(text),
            "this login lacks a right: ACL SETUSER %.64s %s gives it; user "
            "\"operator\" in deploy/redis/users.acl has all that doctor "
            "needs; a service may have it for nobody (deploy/REDIS.md)",
            user ? user : "default", rule);
        return text;
    }
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
        if (strstr(error, remedies[i].text))
            return remedies[i].remedy;
    return "say where Redis is and who you are: --redis-url, REDIS_URL";
}
