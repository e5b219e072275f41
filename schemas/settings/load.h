/* load.h - what setting_load() and a reload share. */
#ifndef SCHEMAS_SETTINGS_LOAD_H
#define SCHEMAS_SETTINGS_LOAD_H

#include "schemas/settings/reload.h"

enum { SETTING_MOST_ROWS = 128 };

/* As setting_load(). files: gets the paths of what was read, as far as it came;
 * or NULL. */
bool setting_load_files(const struct setting_table *table, void *settings,
                        char *const *argv, enum setting_request *request,
                        struct setting_files *files, struct err *err);

#endif
