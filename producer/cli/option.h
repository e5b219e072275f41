/* option.h - the options of every verb, as one table.
 *
 * From the table come the parser and the help pages. A member of a job that is
 * an option takes its type, range and sentence from the table of jobs
 * (schemas/message/job.c) and goes into the job by its path there: member.h.
 * Some options are settings
 * as well (settings.c): what stands on the command line wins over the
 * environment, and that over the settings file. */
#ifndef PRODUCER_CLI_OPTION_H
#define PRODUCER_CLI_OPTION_H

#include <jansson.h>
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

/* Of verbs that submit: files, and the job but for its question. */
struct submit_options {
    struct texts files;
    const char *job;
    const char *jobs;
    const char *key;
    const char *unique;
    uint64_t delay_ms;
    struct texts metadata;
    struct texts env;
    struct texts parameters;
    const char *output_schema;
    json_t *members; /* OPTION_MEMBERs that were given; NULL: none */
};

struct follow_options { /* of wait, watch */
    uint64_t timeout_ms;
    uint64_t from;
};

struct filter_options { /* of verbs that list jobs, or remove them */
    const char *session;
    const char *state;
    const char *worker;
    const char *error_code;
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

struct replay_options {
    const char *save;
    const char *prompts;
};

enum { MAX_OPTIONS = 96 }; /* rows of the table */

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
    uint64_t deadline_ms; /* of a session's verb */

    struct submit_options submit;
    struct follow_options follow;
    struct filter_options filter;
    struct verdict_options verdict;
    struct change_options change;
    struct schedule_options schedule;
    struct replay_options replay;

    /* What is not an option: as many as a verb may take, and one more. */
    const char *words[MAX_WORDS];
    int word_count; /* of all that were given */

    bool given[MAX_OPTIONS];         /* of option_table's rows */
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
    OPTION_MEMBER, /* of a job: one of these, as its row there says; has no
                      place, max and choices of its own */
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
    size_t offset;      /* in struct options */
    const char *value;  /* its name in the help: FILE; a member's, NULL: TIME */
    const char *verbs;  /* ",run,session get,"; NULL: of every verb */
    const char *about;  /* a member's, NULL: the sentence of its row */
    const char *member; /* a job that is JSON says it itself, there */
    uint64_t max;       /* of a number; 0: none */
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
/* Of a member, what it is. */
enum option_type option_type(const struct option *option);
/* The words that it may be; NULL: it is no choice. */
const char *const *option_choices(const struct option *option);

#endif
