/* ledger.h - holds back the answers to writes until the writes are durable.
 *
 *   sent --> answered by Redis --question--> durable --> answer to the sender
 *                               `--- not yet ---'
 *
 * The sender gets the answer to a write when the write is as durable as
 * QUERN_DURABILITY asks; until then it takes no step that builds on it. There
 * is one question (durability.h) at a time, and it covers all writes before it,
 * whoever sent them. The ledger has a connection of its own: a question holds
 * up the commands behind it, and the beats that renew leases must not wait.
 *
 * When the connection breaks nobody knows what is durable. Then the ledger
 * answers every write that has no answer yet with NULL, and its sender sends it
 * again: transitions allow that. */
#ifndef CONSUMER_LEDGER_H
#define CONSUMER_LEDGER_H

#include "schemas/redis/durability.h"
#include "schemas/redis/link.h"

struct ledger;

struct ledger_events {
    void (*on_ready)(void *owner);
    /* The server cannot tell what is durable. */
    void (*on_refused)(void *owner, const struct err *why);
};

struct ledger_setup {
    const struct address *address;
    const struct names *names;
    unsigned int partition;
    struct durability durability; /* not async: that needs no ledger */
    uint64_t answer_ms;           /* for a write, until Redis answers */
};

/* All but ledger_send() accept NULL: then a write is durable when it is
 * answered, and the ledger always ready. Borrows names of setup. */
struct ledger *ledger_new(uv_loop_t *loop, const struct ledger_setup *setup,
                          struct ledger_events events, void *owner);
void ledger_open(struct ledger *ledger);
void ledger_switch(struct ledger *ledger, const struct node *master);
bool ledger_is_ready(const struct ledger *ledger);
/* Answers the writes that have no answer yet with NULL. */
void ledger_free(struct ledger *ledger);

/* As link_send(), but done comes when the write is durable. A command that
 * Redis refuses is answered at once. */
bool ledger_send(struct ledger *ledger, const struct command *command,
                 link_done *done, void *owner);

#endif
