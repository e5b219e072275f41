/* world.h - a world for one job: its clock, its chance, its letters.
 *
 *   test_world.c   seeds, one after the other; a table of sown bugs
 *   life.c         one seed: a job is made up, started, disturbed, judged
 *   store.c        what the function library of Redis promises, for one job
 *   server.c       models and tools, as an HTTP client sees them
 *   boxes.c        executors, as who sends them frames sees them
 *   judge.c        what must hold: of each write, each request, and the end
 *   ports.c        the product in it: the only file that knows how today's
 *                  consumer asks for Redis, HTTP, frames, timers and a clock
 *
 * All but ports.c speaks of what goes over the wires (commands, requests,
 * frames), so it stays when the product's inside is written anew.
 *
 * Whatever happens is a letter that is opened at its time. A letter is opened
 * whole before the next one; disturbances come between two letters, so a
 * consumer may die before and after any command, answer, piece of a reply or
 * frame. The same seed is the same life, letter by letter. */
#ifndef TESTS_UNIT_ATTEMPT_WORLD_H
#define TESTS_UNIT_ATTEMPT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOSTS = 2 };

struct world {
    uint64_t seed;
    uint64_t random;
    uint64_t now_us;  /* since 1970 */
    uint64_t letters; /* opened so far */
    unsigned trouble; /* per cent: how often a server does not do its work */
    bool calm;        /* nothing is disturbed any more */
    bool tracing;
    bool strict; /* what the product is known not to keep is demanded, too */
    int sown;    /* enum sown */
};
extern struct world world;

void world_reset(uint64_t seed);
uint64_t world_ms(void);

/* 0 to below - 1. */
uint64_t chance(uint64_t below);
bool chance_of(unsigned percent);
/* Mostly a few milliseconds, now and then seconds: in microseconds. */
uint64_t chance_delay(void);

/* --------------------------------------------------------------- letters */

/* Letters of a lane are opened in the order in which they were posted. */
struct lane {
    uint64_t last_us;
};
struct letter;
typedef void letter_open(void *about);

struct letter *post(struct lane *lane, uint64_t after_us, letter_open *open,
                    void *about);
/* It is not opened; NULL is ignored. */
void letter_burn(struct letter *letter);
/* When the next one is due, and how many there are; UINT64_MAX: there is
 * none. */
uint64_t letters_due_us(void);
size_t letters_count(void);
/* Opens the next one. False: there is none. */
bool letter_next(void);

/* -------------------------------------------------------------- judgement */

void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the program when it does not hold, and says how to see it again. */
void demand(bool holds, const char *invariant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Where demand() ends: test_world.c. */
_Noreturn void world_failed(const char *invariant, const char *text);

/* ------------------------------------------------------------- sown bugs */

/* Sown one at a time, to show that the world finds such a bug. */
enum sown {
    SOWN_NOTHING,
    SOWN_ACT_BEFORE_COMMIT, /* a write counts before Redis has it */
    SOWN_INTENT_MISSING,    /* the intent of a model's call is not written */
    SOWN_TOOL_INTENT_MISSING,
    SOWN_RECORD_TWICE,    /* a record is appended once more */
    SOWN_RESULT_TWICE,    /* the end is written, and then another one */
    SOWN_EPOCH_IGNORED,   /* writes name the epoch of whoever holds it now */
    SOWN_NOT_CHARGED,     /* what a reply took is not settled */
    SOWN_LATE_ANSWER,     /* a reply goes to the request that comes next */
    SOWN_NOT_CANCELLED,   /* a request that nobody wants goes on */
    SOWN_WAKEUP_LOST,     /* an answer of the executor is not heard */
    SOWN_WRITE_FORGOTTEN, /* the answer to a write is not heard */
    SOWN_SESSION_LEFT,    /* the job's own session is not closed */
    SOWN_NOT_VOIDED,      /* nobody is told that a turn begins anew */
    SOWN_EVENT_NUMBER,    /* an event has the number of the one before */
    SOWN_TOOL_REPEATED,   /* a call with an unknown outcome is made again */
    SOWN_CANCEL_IGNORED,  /* beats do not tell of it */
    SOWN_SESSION_UNSAVED, /* the record of the session is not written */
    SOWN_REPLY_AGAIN,     /* who takes over does not see the last reply */
    SOWN_LIMIT_IGNORED,   /* the job's limit of turns is not heard */
    SOWN_RESULT_CHANGED,  /* a tool's value is another one in the journal */
    SOWN_ITEM_REUSED,     /* who takes over does not see the last events */
    SOWN_BUGS,
};
extern const char *const sown_names[];
static inline bool sown(enum sown bug)
{
    return world.sown == (int)bug;
}

#endif
