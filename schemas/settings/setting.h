/* setting.h - what an operator may set in a program, as one table.
 *
 * A row has a setting's name, type, range, default and its sentence. From the
 * table come
 *
 *   the command line       --lease 30s, --lease=30s
 *   the environment        QUERN_LEASE=30s
 *   the settings file      QUERN_LEASE=30s, a line each, # for comments
 *   a secret's own file    REDIS_URL_FILE=/run/secrets/redis
 *   and all that tells of them: --help, man page, sample file, Markdown
 *
 * A flag wins over a variable, and a variable over a line of the file. An error
 * names the setting as the operator wrote it: as flag, variable or line. */
#ifndef SCHEMAS_SETTINGS_SETTING_H
#define SCHEMAS_SETTINGS_SETTING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"
#include "schemas/settings/amount.h"

enum setting_type { /* what the program's struct has at the offset */
                    SETTING_TEXT,    /* char *, owned */
                    SETTING_SECRET,  /* char *, owned; is shown to nobody */
                    SETTING_LIST,    /* char *, owned: words with commas between
                                        them */
                    SETTING_NUMBER,  /* uint64_t */
                    SETTING_TIME,    /* uint64_t, ms */
                    SETTING_SIZE,    /* uint64_t, bytes */
                    SETTING_DOLLARS, /* uint64_t, micro-dollars */
                    SETTING_SWITCH,  /* bool: on or off; a flag without a value
                                        is on */
                    SETTING_CHOICE,  /* int or enum: the place among the choices
                                      */
                    SETTING_OF_READER, /* anything: read() puts it there */
};

struct setting {
    const char *name;     /* lease: --lease, QUERN_LEASE */
    const char *variable; /* where it is not QUERN_<NAME>; else NULL */
    const char *group;    /* heading of this row and those below; NULL: none */
    enum setting_type type;
    size_t offset;
    uint64_t min, max; /* of a number, time, size or amount of dollars */
    const char *const *choices; /* ends in NULL; also of a text */
    const char *normal; /* default, as it would be written; of a text NULL: the
                           member is NULL, also when "" is given */
    const char *normally; /* the default in words, where normal is NULL */
    const char *value;    /* what --help calls it: FILE; NULL: by the type */
    const char *about;    /* a sentence */
    bool is_flag_only;    /* no variable: --check */
    bool is_reloaded;     /* HUP is enough; else a restart */
    bool is_shared;       /* all programs of a fleet should have the same */
    /* A text's further rules, when it is not empty. Error: a sentence of its
       own, or one that goes on behind "is X": "must be ...". */
    bool (*check)(const char *text, struct err *err);
    /* Of SETTING_OF_READER; the same about errors. Is called again for each
     * source that has the setting, the strongest last. */
    bool (*read)(void *settings, const char *text, struct err *err);
};

struct setting_table {
    const char *program;
    const char *about; /* a sentence */
    const struct setting *rows;
    size_t count;
    size_t size; /* of the struct */
    /* What only all of the settings together say, for a reload; or NULL. Error:
     * bad_setting, a whole sentence. */
    bool (*check)(const void *settings, struct err *err);
    const char *details;  /* paragraphs, each one line; or NULL */
    const char *examples; /* lines */
};

enum setting_request {
    SETTING_RUN,
    SETTING_HELP,
    SETTING_VERSION,
    SETTING_MAN,      /* a page for man, as roff */
    SETTING_SAMPLE,   /* a settings file with all defaults as comments */
    SETTING_MARKDOWN, /* a table */
};

/* -------- load.c */

/* Fills the struct that the table is about, which is all zero before; argv is
 * main()'s. Beside the table's flags there are --config, --help, --version and
 * --document. After any of the last three only *request counts. Error:
 * bad_setting, a sentence that names the value, the limit and the place. */
bool setting_load(const struct setting_table *table, void *settings,
                  char *const *argv, enum setting_request *request,
                  struct err *err);

/* The lines of a settings file of that path; writes into text. */
bool setting_load_text(const struct setting_table *table, void *settings,
                       const char *path, char *text, struct err *err);

/* -------- setting.c */

/* Frees texts; accepts a zeroed struct. What a row's read() has made is the
 * program's. */
void setting_finish(const struct setting_table *table, void *settings);

/* Puts one value into the struct; name is how it was written: --lease,
 * QUERN_LEASE. */
bool setting_put(const struct setting *row, void *settings, const char *text,
                 const char *name, struct err *err);

/* document.c: what was wished, but for SETTING_RUN. */
void setting_print(const struct setting_table *table,
                   enum setting_request request, const char *version,
                   FILE *out);

/* -------- setting.c, for those who write documents and parsers */

/* By its name; NULL: there is none. */
const struct setting *setting_find(const struct setting_table *table,
                                   struct view name);
enum { SETTING_NAME_BYTES = 64 };
void setting_variable(const struct setting *row,
                      char variable[SETTING_NAME_BYTES]);
const char *setting_value_name(const struct setting *row); /* TIME */
/* The place of the word among words, which end in NULL. Error: "must be ...",
 * with the nearest. */
bool setting_read_word(const char *const *words, const char *text, int *place,
                       struct err *err);
/* Of a type that has one: true, and what it may be. */
bool setting_range(const struct setting *row, struct amount_range *range);
/* Those that every program has beside its own: --config and so on. */
extern const struct setting_table setting_common;

#endif
