/* option.h - the options of every verb, as one table.
 *
 * From the table come the parser and the help pages; what was given is in
 * options.h. A member of a job that is an option takes its type, range and
 * sentence from the table of jobs (schemas/message/job.c) and goes into the job
 * by its path there: member.h. Some options are settings as well (settings.c):
 * what stands on the command line wins over the environment, and that over the
 * settings file. */
#ifndef PRODUCER_CLI_OPTION_H
#define PRODUCER_CLI_OPTION_H

#include <stdio.h>

#include "producer/cli/options.h"
#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/settings/setting.h"

enum option_type {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char * */
    OPTION_TEXTS,  /* struct option_texts */
    OPTION_COUNT,  /* uint64_t */
    OPTION_TIME,   /* uint64_t, ms; 500ms, 30s, 5m, 2h, 1d */
    OPTION_BYTES,  /* uint64_t; 64K, 512M, 2G */
    OPTION_COST,   /* uint64_t, micro-dollars; 2, 0.05: dollars */
    OPTION_CHOICE, /* int: index into choices */
    OPTION_MEMBER, /* of a job: one of these, as its row there says; has no
                      place, max and choices of its own */
};

enum {
    OPTION_SETTING = 1, /* may stand in the environment and the settings file */
    OPTION_OF_JOB = 2,  /* as a setting it is ignored with --job and --jobs: a
                           job  in JSON has no defaults from here */
    OPTION_OF_ONE = 4,  /* refused with --jobs */
};

/* A row of the table. Two rows may share a name, when no verb has both. */
struct option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum option_type type;
    unsigned int flags;
    size_t offset;     /* in struct options */
    const char *value; /* its name in the help: FILE; a member's, NULL: TIME */
    const char *verbs; /* ",run,session get,"; NULL: of every verb */
    const char *about; /* a member's, NULL: the sentence of its row */
    const char
        *member;  /* its path in a job, "limits.cell_ms": refused with --job
                     and --jobs, where the JSON has it; NULL: none */
    uint64_t max; /* of a number; 0: none */
    const char *const *choices; /* ends in NULL */
};
extern const struct option option_table[];
extern const size_t option_count;

/* Fills options, zeroed before, from argv without the program and the verb.
 * Options and words may be mixed; "--" ends the options. Borrows argv. Error:
 * bad_setting. options_finish() in any case. */
bool options_parse(struct options *options, const char *verb, int argc,
                   char **argv, struct err *err);
/* Refuses options that do not go with --job or --jobs. Error: bad_setting. */
bool options_check_job(const struct options *options, struct err *err);
bool options_have(const struct options *options, const char *name);
void options_finish(struct options *options);

/* Prints the options of the verb, without those that every verb has; verb NULL:
 * these. */
void options_help(const char *verb, FILE *out);
extern const struct setting_table preferences_table;

/* settings.c: sets options that the command line did not give, from the
 * environment and then from the settings file. A verb takes those that it has,
 * and ignores the others. Error: bad_setting. */
bool options_settle(struct options *options, const char *verb, struct err *err);

/* -------- option.c, of one option; name is how the value was given: --out,
 * QUERN_OUT. */

bool option_set(struct options *options, const struct option *option,
                const char *name, const char *value, struct err *err);
bool option_is_of(const struct option *option, const char *verb);
bool option_is_given(const struct options *options,
                     const struct option *option);
/* Never OPTION_MEMBER: of a member the type of its row. */
enum option_type option_type(const struct option *option);
/* The words that it may be; NULL: it is no choice. */
const char *const *option_choices(const struct option *option);
/* FILE, TIME: what help calls its value; NULL: a flag, which has none. */
const char *option_value(const struct option *option);
/* Appends the sentence that help has, without a full stop. */
void option_describe(const struct option *option, struct buf *out);

#endif
