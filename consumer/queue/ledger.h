/* ledger.h - writes that must not be lost.
 *
 *   sent --> answered, held --question--> safe --> told to its sender
 *                           `---<-- not yet --'
 *
 * Each is answered when it is as durable as QUERN_DURABILITY asks; until then
 * its sender takes no step that builds on it. One question (durability.h) at a
 * time covers all that was sent before it, whoever sent it. Its connection is
 * its own: a question holds up what comes behind it, and beats must not wait.
 *
 * When the connection breaks nobody knows what is safe. Then every write that
 * was not told is answered with NULL, and is to be sent again: transitions
 * allow that. */
#ifndef CONSUMER_LEDGER_H
#define CONSUMER_LEDGER_H

#include "schemas/redis/durability.h"
#include "schemas/redis/link.h"

struct ledger;

struct ledger_events {
    void (*on_ready)(void *owner);
    /* That server cannot tell what is durable, and never could. */
    void (*on_refused)(void *owner, const struct err *why);
};

struct ledger_setup {
    const struct address *address;
    const struct names *names;
    unsigned int partition;
    struct durability durability; /* not async */
    uint64_t answer_ms;           /* of a write */
};

struct ledger *ledger_new(uv_loop_t *loop, const struct ledger_setup *setup,
                          struct ledger_events events, void *owner);
void ledger_open(struct ledger *ledger);
void ledger_switch(struct ledger *ledger, const struct node *master);
bool ledger_is_ready(const struct ledger *ledger);
/* Answers what was not told with NULL. */
void ledger_free(struct ledger *ledger);

/* As link_send(). A command that Redis refuses is answered at once. */
bool ledger_send(struct ledger *ledger, const struct command *command,
                 link_done *done, void *owner);

#endif
