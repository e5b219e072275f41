/* machine.h - the form of every declared state machine of the tree.
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
 * A callback never acts: it stores what has happened, and calls machine_run().
 * So every action is taken in a step of the machine, in one place, in a known
 * state. When machine_run() is called inside of a step, nothing happens at
 * once: the run that is on the stack steps once more.
 *
 * There is one policy for a broken rule. A machine that goes where its table
 * does not allow is a bug of ours, and nobody knows what it would do next: the
 * process says so on stderr and aborts. Jobs and sessions survive that, since
 * another process takes them over.
 *
 * A machine has no clock and no timer: entered() is where its owner sets them,
 * by the limit of the row or by its own. */
#ifndef SCHEMAS_MESSAGE_MACHINE_H
#define SCHEMAS_MESSAGE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* What a step answers. */
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
    bool begun;   /* enter of this state has been called */
    bool landed;  /* the owner sets it: what enter asked for has come */
    bool running; /* machine_run() is on the stack */
    bool again;   /* machine_run() was called since the last step began */
};

/* Borrows kind and owner. States are counted from 0; at most 32. */
void machine_init(struct machine *machine, const struct machine_kind *kind,
                  void *owner, unsigned int state);

/* Goes to another state, or anew to this one, and calls entered(), but no step.
 * Always AGAIN, so that a step may end in return machine_go(...). Aborts when
 * the table does not allow it. */
enum pace machine_go(struct machine *machine, unsigned int next);
bool machine_may_go(const struct machine *machine, unsigned int next);

/* Steps until there is something to wait for. No step may free the owner: an
 * owner that ends itself does so after machine_run() has returned. */
void machine_run(struct machine *machine);

const char *machine_state_name(const struct machine *machine);
uint64_t machine_limit_ms(const struct machine *machine);

/* Told of each change, for tests that follow one machine: NULL in programs. */
typedef void machine_tracer(const struct machine *machine, unsigned int next);
extern machine_tracer *machine_trace;

#endif
