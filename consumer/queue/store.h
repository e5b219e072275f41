/* store.h - what the consumer writes to Redis, in order, until it is there.
 *
 * struct control is the connection to one partition for all but claiming:
 *
 *   AWAY --> CHECKING --> READY       CHECKING: is our function library there,
 *     ^----------+----------+         this build or a later one? If not, load.
 *
 * struct store is the queue of one attempt's writes, which are sent one at a
 * time. A write that was not answered, or that Redis could not take just now
 * (out of memory, loading, read-only), is sent again when the connection is
 * good. Every transition allows that. The sender learns what Redis refuses. A
 * commit is answered when it is durable (ledger.h): the attempt's next write,
 * and its next step, come after that. */
#ifndef CONSUMER_STORE_H
#define CONSUMER_STORE_H

#include "schemas/redis/durability.h"
#include "schemas/redis/link.h"
#include "schemas/redis/names.h"

struct control;
struct finish;
struct store;

struct control_events {
    void (*on_ready)(void *owner);
    /* Redis refuses the login (password, ACL): it is no use to wait. */
    void (*on_refused)(void *owner, const struct err *why);
};

struct control_setup {
    const struct address *address;
    const struct names *names;
    unsigned int partition;
    uint64_t look_ms; /* the library is looked at so often while all is well */
    uint64_t answer_ms; /* of any command; then the connection is given up */
    struct durability durability; /* of what is committed */
    bool looks; /* whether the server may be trusted with jobs: no other of our
                   controls is there to look */
};

struct control *control_new(uv_loop_t *loop, const struct control_setup *setup,
                            struct control_events events, void *owner);
void control_open(struct control *control);
void control_switch(struct control *control, const struct node *master);
bool control_is_ready(const struct control *control);
/* Once every store is finished; is gone when the loop has run out. */
void control_free(struct control *control);

/* At once or not at all, for commands that are repeated anyway (beats,
 * reclaiming). */
bool control_send(struct control *control, const struct command *command,
                  link_done *done, void *owner);

/* reply: borrowed; NULL when Redis refused the command, why says how. */
typedef void store_done(void *owner, const redisReply *reply,
                        const struct err *why);

struct store {
    struct control *control;
    struct store *next, *previous; /* of the control's stores */
    struct write *first, *last;
    bool sent; /* the first one is on its way */
};

void store_init(struct store *store, struct control *control);
/* Forgets what was not sent; nothing is called after. */
void store_finish(struct store *store);

/* Copies the command. done comes from the loop, and may be NULL. */
void store_send(struct store *store, const struct command *command,
                store_done *done, void *owner);

/* The same, of what must not be lost: done comes when it is durable. */
void store_commit(struct store *store, const struct command *command,
                  store_done *done, void *owner);
/* The same of a job's end, which is sent with others (ends.h). */
void store_end(struct store *store, const struct finish *finish,
               store_done *done, void *owner);

/* Forgets the writes that wait, but not the one that is on its way. */
void store_drop(struct store *store);
bool store_is_empty(const struct store *store);
/* Where it writes to. */
unsigned int store_partition(const struct store *store);

#endif
