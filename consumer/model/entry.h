/* entry.h - what an operator sets up in a JSON file, an entry a name:
 * endpoints, tools, servers of tools. Reads the file, and says what is wrong
 * with members that are like those of others. */
#ifndef CONSUMER_ENTRY_H
#define CONSUMER_ENTRY_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"

/* Takes one, or says what is wrong with it. */
typedef bool entry_take(void *owner, const char *name, const json_t *entry,
                        struct err *err);

/* To the first that is not taken. Error: bad_setting, with file and name, and
 * nothing of what the parser stood at: that may be a key. form: what the file
 * should be, "{name: {url, ...}}". */
bool entry_read_file(const char *path, const char *form, entry_take *take,
                     void *owner, struct err *err);

/* A path in that file: relative to its folder, unless it is absolute. On the
 * heap. */
char *entry_path_beside(const char *file, const char *path);

enum { ENTRY_MOST_NAME = 64 }; /* as models take it */

/* These two return false. "method: is "PUT", must be GET or POST" */
bool entry_bad(struct err *err, const char *sentence);
bool entry_bad_value(struct err *err, const char *member, const json_t *value,
                     const char *must);

/* What models take as the name of a function, and Python can. */
bool entry_name_is_good(const char *name);

/* 1 to most. */
bool entry_number(uint64_t *number, const json_t *value, json_int_t most,
                  const char *member, struct err *err);

/* http or https, a server, no fragment, nothing that must be escaped. */
bool entry_check_url(const char *url, struct err *err);

#endif
