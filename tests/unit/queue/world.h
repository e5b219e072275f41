/* world.h - consumer/queue in a world of its own, from one seed.
 *
 *   host: one consumer, real: service, partitions, intake, lease, upkeep,
 *    |    store, ledger, sentinel
 *    +-- clock.c  its alarms, and what it asks the system
 *    +-- link.c   its connections: slow, lost in the middle, silent
 *    `-- work.c   its jobs: started, write, end, give back
 *   redis.c       what the function library promises, for all hosts
 *   world.c       what comes from outside: jobs, cancels, kills, outages
 *   watch.c       what must hold
 *
 * The functions of alarm.c, log.c, link.c, executor.c and some of libuv and
 * libc are those of this folder, so the linker takes nothing from there. A
 * world has one source of chance, so a seed is always the same story. */
#ifndef TESTS_UNIT_QUEUE_WORLD_H
#define TESTS_UNIT_QUEUE_WORLD_H

#include "consumer/consumer.h"
#include "consumer/queue/jobs.h"
#include "consumer/queue/partition.h"
#include "schemas/redis/link.h"
#include "schemas/redis/transition.h"

enum {
    MOST_HOSTS = 3,
    MOST_NAMES = 10, /* of consumers: one that was killed may get another */
    MOST_JOBS = 24,
    MOST_PARTITIONS = 2,
    MOST_QUEUES = 2,
    MOST_SLOTS = 4,
    MOST_RECORDS = 8, /* of a journal */
    PRIORITIES = 3,
    MOST_STREAMS = MOST_PARTITIONS * MOST_QUEUES * PRIORITIES,
    FAR = 1 << 30,
    SLACK_MS = 250, /* for what is due: a way to Redis and back, twice */
    /* After an outage all is as before: back-off, the library is looked at,
     * "not just now", a question about durability. */
    RECOVERY_MS = 4500,
};

/* ------------------------------------------------------------------- clock */

struct host;
typedef void due_ring(void *owner);

struct due {
    uint64_t at, order;
    size_t place; /* in the heap, from 1; 0: it is not set */
    due_ring *ring;
    void *owner;
    struct host *host; /* rings when that is awake; NULL: always */
};

void due_set(struct due *due, uint64_t ms); /* from now */
void due_stop(struct due *due);
uint64_t world_now(void);
/* Until then; false: the world has ended. */
void clock_run(uint64_t until);
size_t clock_count(void); /* of what is still to ring */
size_t clock_alarms(void);
void clock_reset(uint64_t seed);

uint64_t chance(uint64_t bound); /* 0 to bound - 1 */
bool odds(unsigned int percent);
uint64_t between(uint64_t least, uint64_t most);

/* ------------------------------------------------------------------- redis */

enum row_state { ROW_NONE, ROW_QUEUED, ROW_RUNNING, ROW_WAITING, ROW_ENDED };

struct row { /* the facts of a job */
    uint8_t state, partition, queue, priority;
    uint8_t end; /* enum job_state */
    bool cancel;
    bool streamed; /* it has an entry; queued and not: paused, or destroyed */
    bool nowhere;  /* destroyed, until mend finds it */
    int8_t reader; /* of that entry, who has not started it; -1: unread */
    int8_t owner;
    uint8_t journal, crashes, attempts;
    uint32_t entry, told;
    uint32_t records[MOST_RECORDS];
    uint64_t epoch, lease_ms, lease_until, due, read_at;
    bool orphaned;       /* by a take whose connection was gone before */
    unsigned int losses; /* of Redis, when it was started */
};

struct ticket { /* the last take of a consumer */
    uint64_t number, until;
    size_t count;
    uint8_t jobs[MOST_JOBS];
    uint8_t claims[MOST_JOBS]; /* which has brought it, from 1; 0: none */
};

struct state { /* all that Redis holds; copied by a failover */
    uint64_t version;
    uint32_t entries;
    struct row rows[MOST_JOBS];
    struct ticket taken[MOST_PARTITIONS][MOST_NAMES];
    uint64_t listed[MOST_PARTITIONS][MOST_NAMES]; /* as workers, until then */
    bool group[MOST_PARTITIONS][MOST_QUEUES][PRIORITIES];
    uint64_t mended[MOST_PARTITIONS]; /* no walk is wanted until then */
    bool paused[MOST_QUEUES];
    bool drained[MOST_NAMES]; /* operators wish it */
    bool library;
};

struct redis {
    struct state now, copy; /* copy: what a replica, or the disk, has */
    bool up;
    unsigned int node; /* which is the master: 0, 1 */
    const char *fault; /* every function is answered so; NULL: none */
    uint64_t fault_until;
    const char *denied; /* what is not allowed just now: a command's word */
    uint64_t denied_until;
    const char *unheard; /* the next answer of that function is lost */
    bool lagging;        /* the copy is not brought up to date */
    unsigned int losses; /* of what was written: failovers, restarts */
    unsigned int boots;
};
extern struct redis redis;

struct request {
    int argc;
    struct view *argv; /* the bytes lie behind */
};

struct answer {
    redisReply *reply; /* NULL: it waits */
    uint64_t wait_ms;
};
/* name: of the consumer that asks, by its number. wrote: of its connection, the
 * last version. */
struct client {
    int name;
    unsigned int partition;
    uint64_t id;
    uint64_t wrote;
    unsigned int boot; /* of the server that it is connected to */
    bool closed;       /* nobody hears the answer */
};
struct answer redis_execute(struct client *client,
                            const struct request *request);
/* A blocking read or question that waits is looked at again; over: in time. */
redisReply *redis_look_again(struct client *client,
                             const struct request *request, bool over);
bool redis_is_read(const struct request *request);

void redis_reset(void);
void redis_copy(void);
void redis_revert(void); /* to the copy */
void redis_submit(size_t job, unsigned int partition, unsigned int queue,
                  unsigned int priority);
void redis_cancel(size_t job);
void redis_pause(unsigned int queue, bool paused);
/* Other hands delete a stream, and with it its group. */
void redis_destroy(unsigned int partition, unsigned int queue,
                   unsigned int priority);

redisReply *reply_integer(long long number);
redisReply *reply_error(const char *text);
redisReply *reply_push(const char *channel, const char *text);

/* ------------------------------------------------------------------- links */

enum role { ROLE_CLAIM, ROLE_EARS, ROLE_CONTROL, ROLE_LEDGER, ROLE_SENTINEL };

void link_break(struct link *link, bool silent);
/* Of that host, NULL: of all. silent: nobody notices, nothing is answered. */
void links_break(const struct host *host, bool silent);
void links_break_one(const struct host *host, unsigned int which);
void links_look_again(void); /* something came, or is durable by now */
void links_unblock(uint64_t client);
void links_cut(uint64_t client); /* before it hears any more */
void links_publish(unsigned int partition, const char *text);
void links_announce(void); /* sentinels: the master is another one */
size_t links_count(void);
bool links_are_ready(const struct host *host);
/* Claiming of a partition: something is on its way. */
bool links_claim(const struct host *host, unsigned int partition);
bool links_hear(const struct host *host, unsigned int partition);
/* Those that are still at a node that is no master any more. */
size_t links_astray(const struct host *host);
/* It has listened to a sentinel since then. */
bool links_listen(const struct host *host, uint64_t since);
/* Nothing is silent any more: what was breaks. */
void links_wake(void);

/* -------------------------------------------------------------------- work */

struct work {
    struct host *host; /* NULL: the slot is free */
    const struct partition *partition;
    size_t job, slot;
    uint64_t epoch, serial;
    char id[ID_LEN + 1];
    struct store store;
    struct alarm *alarm;
    unsigned int records; /* of the journal, with those on their way */
    unsigned int steps;   /* to go */
    uint64_t told;
    bool writing, ending, leaving, cancelled;
    unsigned int losses; /* of Redis, when it began */
    int end;
    uint64_t since;
};
extern const struct jobs world_jobs;
void work_reset(void);
/* Whoever works on that start of the job; NULL: nobody that lives. */
struct work *work_find(size_t job, uint64_t epoch);
size_t work_job(const char *id, size_t len); /* MOST_JOBS: none */

/* ------------------------------------------------------------------- hosts */

enum chore { CHORE_REPORT, CHORE_PROMOTE, CHORE_LAPSE, CHORE_SWEEP, CHORES };

struct host {
    struct consumer consumer; /* first */
    uv_loop_t loop;           /* never run: it tells whose alarm it is */
    size_t number;
    int name;
    struct work works[MOST_SLOTS];
    bool alive, dead; /* it has begun; it was killed: nothing of it leaves */
    bool left;        /* on_exit() */
    bool executor;    /* it is there */
    bool cut;         /* no connection can be made */
    uint64_t asleep_until;
    uint64_t latency_ms;
    uint64_t ready_since; /* all its connections are; 0: they are not */
    uint64_t ill_until;   /* for another reason */
    uint64_t told_at;     /* to leave; 0: not */
    uint64_t leaves_by;
    bool departed;
    uint64_t begun_at, idle_since;
    uint64_t chores[MOST_PARTITIONS][CHORES]; /* when they were last done */
    uint64_t ready_at[MOST_PARTITIONS];       /* the control's connection */
    uint64_t claimed_at[MOST_PARTITIONS];
    uint64_t swept[MOST_STREAMS];
    size_t calls, rings; /* in this second */
    size_t things;       /* alarms, links, signals that it has */
    struct signal_watch {
        uv_signal_t *handle;
        uv_signal_cb ring;
        int number;
    } signals[8];
    size_t signal_count;
    uint64_t next_serial;
};

struct world {
    uint64_t seed;
    bool trace;
    struct host *hosts[MOST_HOSTS]; /* NULL: none there */
    size_t host_count, partition_count, queue_count, job_count;
    size_t names;
    struct names keys;
    struct address address;
    struct durability durability;
    uint64_t lease_ms, drain_ms, redis_ms;
    size_t slots;
    char ids[MOST_JOBS][ID_LEN + 1];
    struct key streams[MOST_STREAMS]; /* [partition][queue][priority] */
    struct key roots[MOST_PARTITIONS];
    bool submitted[MOST_JOBS];
    bool calm;
    uint64_t calm_since;
    size_t starts, ends, events;
};
extern struct world world;

/* Runs the story of that seed to its end. Does not return when something does
 * not hold: prints what, and the process ends. */
void world_run(uint64_t seed, bool trace);
void world_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct host *host_of(uv_loop_t *loop);
struct host *host_named(int name);
/* Something of it comes to an end; the last one takes it along. */
void host_drop(struct host *host);
size_t stream_number(struct view key); /* MOST_STREAMS: none */

/* ------------------------------------------------------------------- watch */

void broken(const char *invariant, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void watch_reset(void);
/* Nothing is expected of it in time for so long, and until it has had time to
 * recover. NULL: of all. */
void watch_ill(struct host *host, uint64_t for_ms);
/* Its connections have changed. */
void watch_links(struct host *host);
/* Since when what it does can be expected to be in time; UINT64_MAX: it can
 * not. */
uint64_t watch_well_since(const struct host *host);
void watch_started(const struct work *work);
/* The job is not that one's any more, or shall not go on. */
void watch_lost(size_t job, uint64_t epoch);
void watch_cancel(size_t job);
void watch_ended(const struct work *work);
void watch_beat(const struct row *row, size_t job);
void watch_lapse(const struct row *row, size_t job);
void watch_chore(const struct client *client, enum chore chore);
void watch_sent(struct host *host, const struct command *command);
void watch_switch(void);
void watch_second(void);
void watch_leaves(struct host *host);
void watch_end(void);

#endif
