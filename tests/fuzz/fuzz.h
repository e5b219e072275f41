/* fuzz.h - what a fuzz target is, and what it must never see. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert(), in every build. */
#define MUST(true_fact)                                                        \
    do {                                                                       \
        if (!(true_fact)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #true_fact);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
