/* doctor_remedy.c - what to do about an error of Redis, by words of its text.
 * The first row that fits counts. */
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
    { "NOAUTH", "give a login: redis://USER:PASSWORD@HOST:PORT" },
    { "WRONGPASS", "the user or its password is wrong: "
                   "redis://USER:PASSWORD@HOST:PORT" },
    { "invalid password", "the user or its password is wrong: "
                          "redis://USER:PASSWORD@HOST:PORT" },
    { "NOPERM", "this login lacks a right: doctor needs the one of operators, "
                "user \"operator\" in deploy/redis/users.acl" },
    { "ACL failure", "this login lacks a right: doctor needs the one of "
                     "operators, user \"operator\" in deploy/redis/users.acl" },
    { "user executing the script",
      "this login lacks a right: doctor needs the one of operators, user "
      "\"operator\" in deploy/redis/users.acl" },
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

const char *remedy_of(const char *error)
{
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
        if (strstr(error, remedies[i].text))
            return remedies[i].remedy;
    return "say where Redis is and who you are: --redis-url, REDIS_URL";
}
