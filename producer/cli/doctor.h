/* doctor.h - the checks of quern doctor.
 *
 * doctor_table.c has one row for each check: its name, what it asks, and the
 * function that finds out. A function tells what it has found by find():
 *
 *   FINE     the answer is good
 *   NOTE     good to know
 *   UNSEEN   it cannot be seen, and why: a login that lacks a right, a service
 *            that has no such command. Never a fault
 *   WARNING  something is wrong or soon will be, and what to do
 *   FAULT    jobs cannot run, and what to do: exit status 69
 *
 * The rows of one part run in a process of their own, the parts at the same
 * time, and one that does not end within its time is ended (doctor_parts.c). So
 * doctor ends within seconds whatever hangs: a server, a name server, a disk.
 */
#ifndef PRODUCER_CLI_DOCTOR_H
#define PRODUCER_CLI_DOCTOR_H

#include "producer/cli/cli.h"
#include "producer/client/quern_operate.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/durability.h"
#include "schemas/redis/names.h"

enum level { FINE, NOTE, UNSEEN, WARNING, FAULT };

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
    bool away;    /* that server does not answer: nothing more is asked of it */
    bool refuses; /* that server refuses writes, and a finding says so */
    bool bare;    /* some server lacks the function library. It must stay so: a
                     check changes nothing */
    /* Of check_reports() and those that it calls. */
    struct quern *quern;
    struct quern_workers workers;
    struct quern_queues queues;
    enum level worst;
};

/* verb_doctor.c: prints one finding. check: a name of the table, "queues".
 * remedy: what to do, a line for each way; NULL: nothing. */
void find(struct doctor *doctor, enum level level, const char *check,
          const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* -------- doctor_table.c */

enum doctor_part {
    PART_SERVER, /* of each master; these and the next are one process */
    PART_FLEET,
    PART_EXECUTOR, /* on this host, as all that follow */
    PART_MODEL,
    PART_FILES,
    PART_HOST,
    PARTS
};

struct doctor_check {
    const char *name;
    enum doctor_part part;
    /* NULL: the function of a row above finds this, too. */
    void (*run)(struct doctor *doctor);
    const char *asks; /* a question: "does Redis answer, and how fast" */
};
extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;
void doctor_run(struct doctor *doctor, enum doctor_part part);

/* -------- doctor_parts.c */

/* Runs each part, and prints what they find in the order of the table. */
void doctor_run_parts(struct doctor *doctor);

enum { DOCTOR_CALL_MS = 3000 };

/* doctor_remedy.c: what to do about an error of Redis or of the connection to
 * it. Valid until the next call. */
const char *remedy_of(const struct doctor *doctor, const char *error);

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

/* doctor_server.c: of each master. check_redis() sets away. */
void check_redis(struct doctor *doctor);
void check_server(struct doctor *doctor);
void check_writes(struct doctor *doctor);
void check_clock(struct doctor *doctor);
/* Finds a clock that is more than 2 s off; false: it is not. whose: "that of
 * host a". */
bool doctor_find_clock(struct doctor *doctor, const char *check,
                       int64_t ahead_ms, const char *whose, ...)
    __attribute__((format(printf, 4, 5)));
void check_library(struct doctor *doctor);  /* doctor_redis.c */
void check_prefixes(struct doctor *doctor); /* doctor_keys.c */

/* Of the fleet, over all of its partitions. */
void check_fleet(struct doctor *doctor);      /* verb_doctor.c: all of these */
void check_login(struct doctor *doctor);      /* doctor_login.c */
void check_channels(struct doctor *doctor);   /* doctor_login.c */
void check_partitions(struct doctor *doctor); /* doctor_keys.c */
void check_consumers(struct doctor *doctor);  /* doctor_redis.c */
void check_reports(struct doctor *doctor);    /* doctor_fleet.c */
void check_workers(struct doctor *doctor);    /* doctor_workers.c */
void check_leases(struct doctor *doctor);     /* doctor_keys.c */
void check_dead(struct doctor *doctor);       /* doctor_keys.c */
/* verb_doctor.c: makes that partition the one that the checks ask, and connects
 * to its server. */
void doctor_turn(struct doctor *doctor, unsigned int partition);

enum doctor_right { RIGHT_UNKNOWN, RIGHT_GIVEN, RIGHT_REFUSED };
/* doctor_login.c: whether the login may call it, as ACL DRYRUN says. Redis
 * writes a call that is not allowed into its ACL LOG, where it looks like an
 * attack: so doctor asks before. why: Redis's sentence; may be NULL. */
enum doctor_right doctor_may(struct doctor *doctor, char *why, size_t size,
                             int count, const char *const *words);

/* Of this host. */
void check_executor(struct doctor *doctor);     /* doctor_host.c */
void check_model(struct doctor *doctor);        /* doctor_host.c */
void check_settings(struct doctor *doctor);     /* doctor_files.c */
void check_secrets(struct doctor *doctor);      /* doctor_files.c */
void check_certificates(struct doctor *doctor); /* doctor_files.c */
void check_disk(struct doctor *doctor);         /* doctor_system.c */
void check_limits(struct doctor *doctor);       /* doctor_system.c */
void check_unit(struct doctor *doctor);         /* doctor_system.c */
void check_services(struct doctor *doctor);     /* doctor_system.c */

/* doctor_host.c: the program beside this one, else its name, for PATH. */
void doctor_program(const char *name, char *path, size_t size);
/* Runs a program with its output into fd. Gives the wait status; -1: there is
 * no such program. */
int doctor_spawn(char *const *argv, int fd);
/* Reads the last bytes of the file as text, without newlines at its end. */
void doctor_read_end(int fd, char *text, size_t size);

/* doctor_files.c: where the settings files and secrets of this host's services
 * are: $CONFIGURATION_DIRECTORY, else /etc/quern. */
const char *doctor_settings_folder(void);
/* The value of a variable in a settings file of this host
 * ("consumer.conf"); cleanup_free() it. NULL: it has none, or cannot be read.
 */
char *doctor_setting(const char *file, const char *variable);
/* doctor_files.c: finds a certificate that ends within 14 days; true: it does
 * not. */
bool doctor_find_end(struct doctor *doctor, time_t ends, const char *remedy,
                     const char *what);
/* doctor_system.c: finds a file system that is full or nearly. False: there is
 * no such path. */
bool doctor_find_full(struct doctor *doctor, const char *path,
                      const char *whose);

#endif
