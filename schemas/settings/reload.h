/* reload.h - reads the settings of a running program anew.
 *
 * What the file, the secrets' own files and the environment say is read and
 * checked as a whole before anything changes. So a file that is wrong, empty or
 * only half written changes nothing. Then the rows that may change while the
 * program runs (is_reloaded) get their new values; those that need a restart
 * keep the old ones, and are named. */
#ifndef SCHEMAS_SETTINGS_RELOAD_H
#define SCHEMAS_SETTINGS_RELOAD_H

#include "schemas/message/buf.h"
#include "schemas/settings/setting.h"

/* Names of rows, with commas between them; buf_finish() both. */
struct setting_changes {
    struct buf applied; /* have a new value */
    struct buf restart; /* would have one after a restart */
};

void setting_changes_finish(struct setting_changes *changes);

/* settings: what setting_load() has filled from argv; the table's size is set.
 * Texts that have changed are freed: who borrows one reads it again. Rows of
 * SETTING_OF_READER stay as they are. Error: bad_setting, and nothing has
 * changed. Fills changes either way. */
bool setting_reload(const struct setting_table *table, void *settings,
                    char *const *argv, struct setting_changes *changes,
                    struct err *err);

/* Files whose bytes are in the settings: of --config, and of secrets. */
enum { SETTING_MOST_FILES = 32 };
struct setting_files {
    char *paths[SETTING_MOST_FILES];
    size_t count;
    bool is_blank;                     /* that of --config has nothing in it */
    size_t blanks[SETTING_MOST_FILES]; /* offsets of secrets with empty files */
    size_t blank_count;
};

/* By the settings as they are written now; empty where they are wrong. */
void setting_files_find(const struct setting_table *table, char *const *argv,
                        struct setting_files *files);
void setting_files_finish(struct setting_files *files);

#endif
