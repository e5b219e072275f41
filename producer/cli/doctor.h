/* doctor.h - the checks of quern doctor: each prints findings, with what to do
 * about them. A fault (FAULT) means that jobs cannot run: exit status 69. */
#ifndef PRODUCER_CLI_DOCTOR_H
#define PRODUCER_CLI_DOCTOR_H

#include "producer/cli/cli.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/durability.h"
#include "schemas/redis/names.h"

enum level { FINE, NOTE, WARNING, FAULT };

/* One run of the verb. */
struct doctor {
    struct app *app;
    struct address address;
    struct names names;
    struct durability durability;   /* that --durability asks for */
    struct conn *conn;              /* one of conns: to the server that the
                                       checks ask */
    char where[NODE_MAX_HOST + 16]; /* that server's name, which findings begin
                                       with, in a cluster; "": none */
    unsigned int partitions;
    unsigned int partition; /* that conn serves */
    /* By partition; without a cluster the first one serves all of them. */
    struct conn *conns[NAMES_MAX_PARTITIONS];
    bool refuses; /* that server refuses writes, and a finding says so */
    bool bare;    /* some server lacks the function library. It must stay so: a
                     check changes nothing */
    enum level worst;
};

/* verb_doctor.c: prints one finding. check: its name, "queues". remedy: what to
 * do, a line for each way; NULL: nothing. */
void find(struct doctor *doctor, enum level level, const char *check,
          const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

enum { DOCTOR_CALL_MS = 3000 };

/* doctor_remedy.c: what to do about an error of Redis or of the connection to
 * it. */
const char *remedy_of(const char *error);

/* doctor_server.c: one command, a string for each word; cleanup_answer() the
 * reply. NULL: err says why. */
redisReply *doctor_ask(struct doctor *doctor, struct err *err, int count,
                       const char *const *words);
#define ASK(doctor, err, ...)                                                  \
    doctor_ask(                                                                \
        doctor, err,                                                           \
        (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),       \
        (const char *[]){ __VA_ARGS__ })
void cleanup_answer(redisReply **reply);

/* Checks of one server. check_redis() false: it is not there, and the other
 * checks make no sense. */
bool check_redis(struct doctor *doctor);
void check_server(struct doctor *doctor);
void check_writes(struct doctor *doctor);
void check_clock(struct doctor *doctor);
void check_library(struct doctor *doctor); /* doctor_redis.c */

/* Checks of the fleet, over all of its partitions. */
void check_login(struct doctor *doctor);
void check_consumers(struct doctor *doctor); /* doctor_redis.c */
void check_reports(struct doctor *doctor);   /* doctor_fleet.c */
/* verb_doctor.c: makes that partition the one that the checks ask, and connects
 * to its server. */
void doctor_turn(struct doctor *doctor, unsigned int partition);

/* doctor_host.c: checks of this host. */
void check_executor(struct doctor *doctor);
void check_model(struct doctor *doctor);

#endif
