/* consumer.h - what the parts of one consumer process share.
 *
 *   intake --entries--> attempts --store--> Redis
 *     ^                 |  |  `--session--> quern-executor
 *     `---free slots----'  `-----model call--> endpoints
 *   lease: renews the leases of all attempts
 *   upkeep: puts back jobs of dead consumers, and more
 *
 * Intake, store, lease and upkeep are there once for each partition of the
 * fleet. One loop, one thread: nothing here needs a lock. */
#ifndef CONSUMER_CONSUMER_H
#define CONSUMER_CONSUMER_H

#include "consumer/conversation/ask.h"
#include "consumer/conversation/tools.h"
#include "consumer/model/endpoint.h"
#include "consumer/python/executor.h"
#include "consumer/queue/store.h"
#include "consumer/settings.h"
#include "consumer/tools/catalog.h"
#include "consumer/tools/mcp.h"
#include "consumer/tools/tool_host.h"
#include "consumer/trace/tracer.h"
#include "schemas/http/http.h"
#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "schemas/redis/names.h"

struct attempt;
struct watch_pages;
struct fleet;
struct jobs;
struct partitions;
struct reloader;
struct sentinel;
struct service;

enum {
    CONSUMER_MAX_QUEUES = 16,
    CONSUMER_STREAM_BYTES = 128 << 20,
};

enum mode {
    MODE_SERVING,
    MODE_QUIET,    /* claims nothing, finishes what runs */
    MODE_DRAINING, /* the same, and then exits */
};

/* The only one of this process: main.c has it. */
struct consumer {
    uv_loop_t *loop;
    char *const *argv; /* that the settings come from */
    struct consumer_settings settings;
    struct address redis;
    struct durability durability;
    struct names names;
    char name[MAX_NAME_BYTES + 1];
    enum mode mode;
    int exit_code;

    struct executor *executor;
    struct http *http;
    struct endpoints endpoints;
    struct prompts prompts;
    struct catalog catalog;  /* tools that models, and their code, may call */
    struct mcp *mcp;         /* servers that have more of them */
    struct toolset *toolset; /* all tools, for jobs that begin now */
    struct tool_host tool_host;
    struct fleet *fleet;
    struct sentinel *sentinel;     /* NULL: Redis has none */
    struct partitions *partitions; /* NULL: not known yet how many */
    struct service *service;
    struct watch_pages *watch_pages; /* NULL: nobody wants to see numbers */
    struct reloader *reloader;
    struct tracer *tracer; /* NULL: traces are off */

    const struct jobs *jobs; /* &attempts of job/attempt.h */
    struct attempt **slots;  /* settings.slots of them; NULL: free */
    size_t running;          /* slots that are not free */
    size_t coming;           /* slots kept for a take that has no answer yet */
    size_t stream_memory_left; /* bytes of CONSUMER_STREAM_BYTES that no running
                                  cell uses, see output.h */
    uint64_t serials;          /* of attempts: the last one */
    /* A slot has become free, or a read has ended while the consumer leaves. */
    void (*on_ended)(struct consumer *consumer);
};

/* Whether it may take more jobs: it serves, and has an executor or is set to
 * need none. Every job may need an executor, and without one it could only hold
 * it. */
bool consumer_claims(const struct consumer *consumer);

/* Whether these can be parts of keys. Error: bad_setting, as setting.h has a
 * check's. */
bool consumer_check_queues(const char *queues, struct err *err);
bool consumer_check_name(const char *name, struct err *err);

/* The names of the queues, which are views of the settings; count in *count.
 * free() it. */
struct view *consumer_queues(const struct consumer *consumer, size_t *count);

/* The streams to claim from, the most urgent first: high of every queue, then
 * normal, then low. Each is a key; count in *count. free() it. */
struct key *consumer_streams(const struct consumer *consumer,
                             unsigned int partition, size_t *count);

#endif
