/* options.h - the values of options, from the command line, the environment and
 * the settings file, grouped by the verbs that read them. Texts are borrowed
 * from argv or from preferences. NULL, 0, false: not given; options_have()
 * tells a 0 that was given. */
#ifndef PRODUCER_CLI_OPTIONS_H
#define PRODUCER_CLI_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct preferences;

enum { MAX_TEXTS = 64, MAX_WORDS = MAX_TEXTS + 2 };

struct option_texts { /* of an option that may be given again */
    const char *items[MAX_TEXTS];
    size_t count;
};

/* Of verbs that submit: files, and the job but for its question. */
struct submit_options {
    struct option_texts files;
    const char *job;
    const char *jobs;
    const char *key;
    const char *unique;
    uint64_t delay_ms;
    struct option_texts metadata;
    struct option_texts env;
    struct option_texts parameters;
    const char *output_schema;
    json_t *members; /* OPTION_MEMBERs that were given; NULL: none */
};

struct follow_options { /* of wait, watch; doctor */
    uint64_t timeout_ms;
    uint64_t from;
};

struct filter_options { /* of verbs that list jobs, or remove them */
    const char *session;
    const char *state;
    const char *worker;
    const char *error_code;
    const char *model;
    const char *metadata;
    int sort; /* enum quern_sort */
    uint64_t newer_ms;
    uint64_t older_ms;
    uint64_t limit;
    uint64_t skip;
};

struct verdict_options { /* of approve */
    bool reject;
    bool skip;
    bool again;
    bool abort;
    const char *edit;
    const char *ask;
    const char *call;
};

struct change_options { /* of verbs that change what is there */
    bool create;
    bool all;
    bool anew;
    bool dry_run;
    bool yes;
};

struct schedule_options {
    const char *zone;
    const char *from;
};

struct hook_options {
    const char *events;
    const char *name;
    uint64_t keep_ms;
    bool at_once;
};

struct api_key_options {
    const char *scopes;
    uint64_t life_ms;
    uint64_t rate;
    uint64_t jobs;
    uint64_t cost; /* micro-dollars */
    uint64_t grace_ms;
};

struct replay_options {
    const char *save;
    const char *prompts;
};

enum { MAX_OPTIONS = 112 }; /* rows of the table */

struct options {
    const char *redis_url;
    const char *prefix;
    const char *durability;
    const char *config;
    bool json;
    bool help;

    /* Of several verbs. */
    const char *queue;
    int priority; /* enum quern_priority */
    const char *tenant;
    const char *out;
    const char *reason;
    bool fleet;           /* of doctor */
    uint64_t deadline_ms; /* of the verbs that act on a session */

    struct submit_options submit;
    struct follow_options follow;
    struct filter_options filter;
    struct verdict_options verdict;
    struct change_options change;
    struct schedule_options schedule;
    struct hook_options hook;
    struct api_key_options api_key;
    struct replay_options replay;

    /* What is not an option: as many as a verb may take, and one more. */
    const char *words[MAX_WORDS];
    int word_count; /* of all that were given */

    bool given[MAX_OPTIONS];         /* of option_table's rows */
    struct preferences *preferences; /* which values borrow from */
};

#endif
