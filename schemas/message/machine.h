/* machine.h - what every declared state machine of the tree is made of.
 *
 * A machine is a table with a row for each state:
 *
 *    name     for logs and errors
 *    next     which states may follow
 *    enter    what is done once, when the machine has come to the state
 *    step     what is done each time that something has happened since
 *    landed   the same, but only once what enter asked for has come
 *    limit    how long it may take
 *
 * A callback never acts: it records what has happened, and runs the machine.
 * The machine is not run inside itself: it goes round once more instead.
 *
 * There is one policy for a broken rule. A machine that goes where its table
 * does not allow is a bug of ours, and what it would do next is unknown: the
 * process says so on stderr and aborts. Jobs and sessions survive that, since
 * others take them over.
 *
 * A machine has no clock and no timer: entered() is where its owner sets them,
 * by the limit of the row or by its own. */
#ifndef SCHEMAS_MESSAGE_MACHINE_H
#define SCHEMAS_MESSAGE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* What a step says of the machine. */
enum pace {
    AGAIN, /* something has changed: step at once */
    WAIT,  /* a callback will run the machine */
};

typedef enum pace machine_step(void *owner);

#define TO(state) (UINT32_C(1) << (state))

struct machine_state {
    const char *name;
    uint32_t next;        /* TO(one) | TO(other) */
    machine_step *enter;  /* NULL: step is called at once */
    machine_step *step;   /* NULL: it waits, or goes on by landed */
    machine_step *landed; /* NULL: step decides */
    uint64_t limit_ms;    /* 0: none, or the owner knows it */
};

struct machine_kind {
    const char *name;
    const struct machine_state *states;
    unsigned int count;
    void (*entered)(void *owner); /* by machine_go(); NULL: nothing is done */
    void (*before)(void *owner);  /* before each step: it may machine_go() */
};

struct machine {
    const struct machine_kind *kind;
    void *owner;
    unsigned int state;
    bool begun;   /* enter has been called */
    bool landed;  /* its owner says: what it asked for is there */
    bool running; /* machine_run() is on the stack, */
    bool again;   /* and was called from inside */
};

/* Borrows kind and owner. States are counted from 0; at most 32. */
void machine_init(struct machine *machine, const struct machine_kind *kind,
                  void *owner, unsigned int state);

/* To another state, or anew to this one. Always AGAIN. */
enum pace machine_go(struct machine *machine, unsigned int next);
bool machine_may_go(const struct machine *machine, unsigned int next);

/* Steps until there is something to wait for. The owner must stay until it
 * returns. */
void machine_run(struct machine *machine);

const char *machine_state_name(const struct machine *machine);
uint64_t machine_limit_ms(const struct machine *machine);

/* Told of each change, for tests that follow one machine: NULL in programs. */
typedef void machine_tracer(const struct machine *machine, unsigned int next);
extern machine_tracer *machine_trace;

#endif
