/* machine.c - the form of every declared state machine of the tree. */
#include "schemas/message/machine.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STATES = 32 };

machine_tracer *machine_trace;

static const struct machine_state *row_of(const struct machine *machine)
{
    return &machine->kind->states[machine->state];
}

void machine_init(struct machine *machine, const struct machine_kind *kind,
                  void *owner, unsigned int state)
{
    assert(kind->count <= MOST_STATES && state < kind->count);
    *machine = (struct machine){ .kind = kind, .owner = owner, .state = state };
}

bool machine_may_go(const struct machine *machine, unsigned int next)
{
    return next < machine->kind->count && (row_of(machine)->next & TO(next));
}

enum pace machine_go(struct machine *machine, unsigned int next)
{
    const struct machine_kind *kind = machine->kind;
    if (!machine_may_go(machine, next)) {
        fprintf(stderr, "a bug: %s may not go from \"%s\" to \"%s\"\n",
                kind->name, row_of(machine)->name,
                next < kind->count ? kind->states[next].name : "?");
        abort();
    }
    if (machine_trace)
        machine_trace(machine, next);
    machine->state = next;
    machine->begun = machine->landed = false;
    if (kind->entered)
        kind->entered(machine->owner);
    return AGAIN;
}

static enum pace machine_advance(struct machine *machine)
{
    const struct machine_state *row = row_of(machine);
    if (!machine->begun) {
        machine->begun = true;
        if (row->enter)
            return row->enter(machine->owner);
    }
    if (machine->landed && row->landed)
        return row->landed(machine->owner);
    return row->step ? row->step(machine->owner) : WAIT;
}

void machine_run(struct machine *machine)
{
    const struct machine_kind *kind = machine->kind;
    enum pace pace;
    /* Before the check: a run on the stack must see that there was a call. */
    machine->again = true;
    if (machine->running)
        return; /* the run that is on the stack goes round once more */
    machine->running = true;
    do {
        machine->again = false;
        if (kind->before)
            kind->before(machine->owner);
        pace = machine_advance(machine);
    } while (pace == AGAIN || machine->again);
    machine->running = false;
}

const char *machine_state_name(const struct machine *machine)
{
    return row_of(machine)->name;
}

uint64_t machine_limit_ms(const struct machine *machine)
{
    return row_of(machine)->limit_ms;
}
