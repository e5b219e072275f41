/* practice.h - a quern-practice-model of our own for a C test. */
#ifndef TESTS_UNIT_MODEL_PRACTICE_H
#define TESTS_UNIT_MODEL_PRACTICE_H

#include <sys/types.h>

struct practice {
    pid_t pid;
    char url[64]; /* http://127.0.0.1:PORT/v1 */
};

/* script: the path of a script. Ends with the process that started it. */
void practice_start(struct practice *practice, const char *script);
void practice_stop(struct practice *practice);

#endif
