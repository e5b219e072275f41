/* option.h - the options of every verb, as one table.
 *
 * From the table come the parser and the help pages. Some options are settings
 * as well (settings.c): what stands on the command line wins over the
 * environment, and that over the settings file. */
#ifndef PRODUCER_CLI_OPTION_H
#define PRODUCER_CLI_OPTION_H

#include <stdint.h>
#include <stdio.h>

#include "schemas/message/err.h"
#include "schemas/message/limits.h"
#include "schemas/settings/setting.h"

struct preferences;

enum { MAX_TEXTS = 64, MAX_WORDS = MAX_TEXTS + 2 };

struct texts { /* of an option that may be given again */
    const char *items[MAX_TEXTS];
    size_t count;
};

struct options {
    const char *redis_url;
    const char *prefix;
    const char *durability;
    const char *config;
    bool json;
    bool help;
    bool version;

    struct texts files;
    const char *out;
    const char *session;
    const char *model;
    const char *system;
    struct texts tools;
    const char *job;
    const char *jobs;
    const char *queue;
    int priority; /* enum quern_priority */
    int mode;     /* enum quern_mode */
    int history;  /* enum quern_history */
    const char *tenant;
    const char *key;
    struct texts metadata;
    struct texts env;
    uint64_t turns;
    uint64_t total_tokens;
    uint64_t cost;
    uint64_t deadline_ms;
    uint64_t cell_ms;
    uint64_t memory_bytes;
    uint64_t delay_ms;
    const char *unique;

    uint64_t timeout_ms;
    uint64_t from;
    const char *from_time;
    const char *reason;
    bool reject;
    const char *edit;
    const char *ask;
    const char *call;
    bool skip_it;
    bool again;
    bool abort;
    struct texts approve;
    const char *output_schema;
    struct texts parameters;

    const char *save;
    const char *prompts;
    const char *zone;
    uint64_t limit;
    uint64_t skip;
    const char *state;
    const char *worker;
    const char *error_code;
    int sort; /* enum quern_sort */
    uint64_t newer_ms;
    uint64_t older_ms;
    bool create;
    bool all;
    bool anew;
    bool dry_run;
    bool yes;

    /* What is not an option: as many as a verb may take, and one more. */
    const char *words[MAX_WORDS];
    int word_count; /* of all that were given */

    uint64_t given;                  /* bit n: option_table[n] has been said */
    struct preferences *preferences; /* which values borrow from */
};

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char * */
    OPTION_TEXTS,  /* struct texts */
    OPTION_COUNT,  /* uint64_t */
    OPTION_TIME,   /* uint64_t, ms; 500ms, 30s, 5m, 2h, 1d */
    OPTION_BYTES,  /* uint64_t; 64K, 512M, 2G */
    OPTION_COST,   /* uint64_t, micro-dollars; 2, 0.05: dollars */
    OPTION_CHOICE, /* int: index into choices */
};

enum {
    OPTION_SETTING = 1, /* also in the environment and the settings file */
    OPTION_OF_JOB = 2,  /* a setting: not of a job that is JSON */
    OPTION_OF_ONE = 4,  /* not of the many of --jobs */
};

struct option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum option_type type;
    unsigned int flags;
    size_t offset;     /* in struct options */
    const char *value; /* its name in the help: FILE */
    const char *verbs; /* ",run,session get,"; NULL: of every verb */
    const char *about;
    const char *member;         /* a job that is JSON says it itself, there */
    uint64_t max;               /* of a number; 0: none */
    const char *const *choices; /* ends in NULL */
};
extern const struct option option_table[];
extern const size_t option_count;

/* argv without the program and the verb. Options and words may be mixed; "--"
 * ends the options. Error: bad_setting. Borrows argv. */
bool options_parse(struct options *options, const char *verb, int argc,
                   char **argv, struct err *err);
/* Those that cannot be said beside --job or --jobs are not. Error: bad_setting.
 */
bool options_check_job(const struct options *options, struct err *err);
bool options_have(const struct options *options, const char *name);
void options_finish(struct options *options);

/* The verb's own, or with verb NULL the ones of every verb. */
void options_help(const char *verb, FILE *out);
extern const struct setting_table preferences_table;

/* settings.c: the environment, then the file, for what the command line did not
 * say. A verb takes from them what it knows and passes over the rest. */
bool options_settle(struct options *options, const char *verb, struct err *err);

/* -------- option.c, of one option; name is how the value was given: --out,
 * QUERN_OUT. */

bool option_set(struct options *options, const struct option *option,
                const char *name, const char *value, struct err *err);
bool option_is_of(const struct option *option, const char *verb);
bool option_is_given(const struct options *options,
                     const struct option *option);

#endif
