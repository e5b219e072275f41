/* boxes.h - executors, one on each host, as who sends them frames sees them.
 *
 * schemas/FRAMES.md is what they stand for. A cell's code
 * is a list of lines that say what it does: print('word'), look_up(word='word')
 * and other tools, rest(), raise(), crash(). An executor outlives the consumer
 * of its host, and may die by itself. */
#ifndef TESTS_UNIT_ATTEMPT_BOXES_H
#define TESTS_UNIT_ATTEMPT_BOXES_H

#include "schemas/message/frame.h"
#include "tests/unit/attempt/world.h"

void boxes_reset(void);
/* A frame arrives; borrowed. */
void boxes_hear(int host, const struct frame *frame, uint64_t ref);
/* Nobody of that host listens any more. */
void boxes_unplug(int host);
/* The executor dies, and all that it has. */
void boxes_die(int host);
/* Sessions of that name; cells that run. */
size_t boxes_of(int host, const char *name);
size_t boxes_running(int host);

/* ports.c: a frame comes; borrowed. */
void executor_say(int host, uint64_t ref, const struct frame *frame);

#endif
