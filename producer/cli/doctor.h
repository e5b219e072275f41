/* doctor.h - the checks of quern doctor. */
#ifndef PRODUCER_CLI_DOCTOR_H
#define PRODUCER_CLI_DOCTOR_H

#include "producer/cli/cli.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/durability.h"
#include "schemas/redis/names.h"

enum level { FINE, NOTE, WARNING, FAULT };

struct doctor {
    struct app *app;
    struct address address;
    struct names names;
    struct durability durability;   /* that is asked for */
    struct conn *conn;              /* to the server that is looked at */
    char where[NODE_MAX_HOST + 16]; /* that server's name, of a cluster's */
    unsigned int partitions;
    unsigned int partition; /* that is looked at */
    /* By partition; without a cluster the first one serves all of them. */
    struct conn *conns[NAMES_MAX_PARTITIONS];
    bool refuses; /* that server refuses writes, and that has been told */
    bool bare;    /* some server has no functions, and is to stay so */
    enum level worst;
};

/* verb_doctor.c: one finding. remedy: what to do about it, one way a line;
 * NULL: nothing. */
void find(struct doctor *doctor, enum level level, const char *check,
          const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

enum { DOCTOR_CALL_MS = 3000 };

/* doctor_remedy.c: what to do about an error that Redis, or the way to it, has
 * given. */
const char *remedy_of(const char *error);

/* doctor_server.c: one command, a string a word. */
redisReply *doctor_ask(struct doctor *doctor, struct err *err, int count,
                       const char *const *words);
#define ASK(doctor, err, ...)                                                  \
    doctor_ask(                                                                \
        doctor, err,                                                           \
        (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),       \
        (const char *[]){ __VA_ARGS__ })
void cleanup_answer(redisReply **reply);

/* Checks of one server; false: the others make no sense. */
bool check_redis(struct doctor *doctor);
void check_server(struct doctor *doctor);
void check_writes(struct doctor *doctor);
void check_clock(struct doctor *doctor);
void check_library(struct doctor *doctor); /* doctor_redis.c */

/* Checks of the fleet, over all of its partitions. */
void check_login(struct doctor *doctor);
void check_consumers(struct doctor *doctor); /* doctor_redis.c */
void check_reports(struct doctor *doctor);   /* doctor_fleet.c */
/* verb_doctor.c: makes the connection to that partition's server the one to
 * ask. */
void doctor_turn(struct doctor *doctor, unsigned int partition);

/* doctor_host.c: checks of this host. */
void check_executor(struct doctor *doctor);
void check_model(struct doctor *doctor);

#endif
