/* life.h - one seed: a job is made up, started, disturbed, judged. */
#ifndef TESTS_UNIT_ATTEMPT_LIFE_H
#define TESTS_UNIT_ATTEMPT_LIFE_H

#include "tests/unit/attempt/world.h"

void life_run(uint64_t seed);

/* Of the job of this seed. */
bool life_is_conversation(void);
bool life_is_codeact(void);
/* The caller's, "callers". */
bool life_has_function(void);
uint64_t life_max_turns(void);
/* That host has a job that was given to another one meanwhile. */
bool life_was_lost(int host);
/* A tool has answered so: its request, what for. Then: is it that answer? */
void life_tool_served(uint64_t value, const char *word, const char *hash);
bool life_tool_answer(uint64_t value, const char *word, const char *hash);

/* How often what has happened in all seeds so far: for test_world.c. */
struct tally {
    uint64_t seeds, letters, records, kills, losses, breaks, cancels, drains,
        verdicts, states[8];
};
extern struct tally tally;

#endif
