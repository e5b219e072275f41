/* store.h - keeps what the consumer writes to Redis, in order, until Redis has
 * it.
 *
 * struct control is the connection to one partition for all but claiming. Each
 * partition of the consumer has one:
 *
 *   AWAY --> CHECKING --> READY       CHECKING: is our function library there,
 *     ^----------+----------+         this build or a later one? If not, the
 *                                     consumer loads it.
 *
 * struct store is the queue of one attempt's writes, which are sent one at a
 * time. A write that was not answered, or that Redis could not take just now
 * (out of memory, loading, read-only), is sent again when the connection is
 * good. Every transition allows that: the second time changes nothing. What
 * Redis refuses is not sent again, and the sender is told. A
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
    uint64_t look_ms;   /* how often to check the library while all is well */
    uint64_t answer_ms; /* for any command; then the connection is given up */
    struct durability durability; /* of what is committed */
    bool looks; /* checks by INFO whether the server may be trusted with jobs;
                   one control of each server has to */
};

/* Borrows names of setup. Nothing happens before control_open(). */
struct control *control_new(uv_loop_t *loop, const struct control_setup *setup,
                            struct control_events events, void *owner);
void control_open(struct control *control);
/* Sentinels name another master, see link_switch(). */
void control_switch(struct control *control, const struct node *master);
bool control_is_ready(const struct control *control);
/* Call it when every store is finished. The memory goes when the loop has
 * closed the connection. Accepts NULL. */
void control_free(struct control *control);

/* Sends the command at once or not at all (false: done is not called), past the
 * stores and without a second try: for what is repeated anyway (beats, upkeep).
 */
bool control_send(struct control *control, const struct command *command,
                  link_done *done, void *owner);

/* reply: borrowed, why is NULL; or reply is NULL when Redis refused the
 * command, and why says how. It may finish the store that the write was of. */
typedef void store_done(void *owner, const redisReply *reply,
                        const struct err *why);

struct store {
    struct control *control;
    struct store *next, *previous; /* of the control's stores */
    struct write *first, *last;    /* that have no answer yet, in order */
    bool sent; /* the first one is on its way; no other one ever is */
};

/* Borrows the control. The store must stay where it is until store_finish(). */
void store_init(struct store *store, struct control *control);
/* Forgets what was not sent. No done is called any more, also not of the write
 * that is on its way. Accepts NULL and a zeroed store. */
void store_finish(struct store *store);

/* Queues a copy of the command. done comes from the loop, when Redis has
 * answered; it may be NULL. */
void store_send(struct store *store, const struct command *command,
                store_done *done, void *owner);

/* The same for what must not be lost: done comes when the write is durable, and
 * the store sends nothing more before that. */
void store_commit(struct store *store, const struct command *command,
                  store_done *done, void *owner);
/* The same for a job's end. Ends that are added in one iteration of the loop
 * are sent together, each with its own answer. */
void store_end(struct store *store, const struct finish *finish,
               store_done *done, void *owner);

/* Forgets the writes that wait, but not the one that is on its way. */
void store_drop(struct store *store);
/* All writes were answered. */
bool store_is_empty(const struct store *store);
/* The number of the partition that it writes to. */
unsigned int store_partition(const struct store *store);

#endif
