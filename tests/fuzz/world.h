/* world.h - a warden without a machine under it, for fuzzing.
 *
 * The real sessions, interpreters, runners and server stand in a world that is
 * ours: time goes when we say so (world_advance), a box is a folder, a birth
 * takes no process, and what lives in a box is the fuzzer. The functions of
 * loop.c, boxes.c, zygote.c, pool.c, packages.c, memory.c and process.c that
 * the warden calls are those of world.c and guests.c, so the linker takes
 * nothing from there. Nonces are 1, 2, 3: a fuzzer can know them. */
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include "executor/warden/sessions.h"

enum { GUESTS = 64, WAITS_MS = 1000 };

struct guest {   /* a process in a box, as the warden sees it */
    int channel; /* -1: it is free */
    int out;
    int trace;
    int process; /* stands for its pidfd: readable when it has ended */
    struct buf heard;
    bool parked; /* a snapshot that waits */
};

struct world {
    uv_loop_t loop;
    struct executor_settings settings;
    struct sessions sessions;
    struct guest guests[GUESTS]; /* oldest first */
    size_t births;
    size_t last_cells; /* that guests were sent */
    uint64_t nonces;
    bool hungry; /* boxes take too much memory */
    bool dirty;  /* sweeps do not end all */
    bool silent; /* guests do not answer by themselves */
    bool packages;
    bool boxless; /* who asks for a box waits, until one is given back */
};
extern struct world world;

void world_begin(void);
/* Ends all sessions; nothing of them may be left. */
void world_end(void);
/* Until nothing moves any more. */
void world_settle(void);
void world_advance(uint64_t ms);

/* The first whole frame of what was heard from the warden, which says nothing
 * that is not well-formed; into the arena. False: there is none. */
bool frame_take(struct buf *heard, const struct schema *schema, void *frame,
                struct arena *arena);

/* The youngest that lives: a runner, or (parked) a snapshot. NULL: none. */
struct guest *guest_find(bool parked);
void guest_write(struct guest *guest, struct view bytes, int passenger);
void guest_say(struct guest *guest, const struct guest_frame *frame);
void guest_print(struct guest *guest, struct view bytes);
/* Where its code is, so it says. */
void guest_trace(struct guest *guest, uint64_t cell, uint64_t line);
void guest_die(struct guest *guest);
/* Reads what it was sent, and does what a good one does unless it is silent:
 * ends cells at once, but for code that begins with "wait"; parks. True:
 * there was something. */
bool guests_listen(void);
/* Installations that go on come to an end. */
bool installs_end(bool worked);

/* For world.c. */
void guests_finish(void);

#endif
