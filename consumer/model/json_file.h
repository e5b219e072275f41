/* json_file.h - what an operator sets up in a JSON file, an entry a name. */
#ifndef CONSUMER_JSON_FILE_H
#define CONSUMER_JSON_FILE_H

#include <jansson.h>

#include "schemas/message/err.h"

/* Takes one, or says what is wrong with it. */
typedef bool json_entry(void *owner, const char *name, const json_t *entry,
                        struct err *err);

/* To the first that is not taken. Error: bad_setting, with file and name, and
 * nothing of what the parser stood at: that may be a key. form: what the file
 * should be, "{name: {url, ...}}". */
bool json_file_read(const char *path, const char *form, json_entry *take,
                    void *owner, struct err *err);

/* A path in that file: relative to its folder, unless it is absolute. On the
 * heap. */
char *json_file_beside(const char *file, const char *path);

#endif
