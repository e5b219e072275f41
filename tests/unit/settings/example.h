/* example.h - a table that has a row of each type, for tests. */
#ifndef TESTS_UNIT_SETTINGS_EXAMPLE_H
#define TESTS_UNIT_SETTINGS_EXAMPLE_H

#include "schemas/settings/setting.h"

enum example_level { EXAMPLE_LOW, EXAMPLE_HIGH };

struct example {
    char *name;
    char *user; /* NULL: none */
    char *queues;
    char *key;
    char *word;
    uint64_t slots;
    uint64_t lease_ms;
    uint64_t memory_bytes;
    uint64_t max_cost;
    bool save;
    bool check;
    enum example_level level;
    unsigned int mode; /* octal */
};

extern const struct setting_table example_table;

#endif
