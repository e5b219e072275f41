/* entry.h - JSON files of the operator, {name: entry, ...}: endpoints, tools,
 * servers of tools. Reads the file, and checks the members that all kinds of
 * entries have. */
#ifndef CONSUMER_ENTRY_H
#define CONSUMER_ENTRY_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/err.h"

/* Takes one entry, borrowed for the call, or says what is wrong with it. */
typedef bool entry_take(void *owner, const char *name, const json_t *entry,
                        struct err *err);

/* Gives take() the entries of the file, up to the first one that it refuses.
 * form: what the file should be, for the sentence: "{name: {url, ...}}". Error:
 * bad_setting, with file and name. It never quotes the text at which the parser
 * stopped: that may be a key. */
bool entry_read_file(const char *path, const char *form, entry_take *take,
                     void *owner, struct err *err);

/* Resolves a path that a file contains: relative to the file's folder, unless
 * it is absolute. free() it. */
char *entry_path_beside(const char *file, const char *path);

enum { ENTRY_MOST_NAME = 64 }; /* as models take it */

/* Both set bad_setting and return false. The second says: method: is "PUT",
 * must be GET or POST. Not for members that may be secret: it quotes the value.
 */
bool entry_bad(struct err *err, const char *sentence);
bool entry_bad_value(struct err *err, const char *member, const json_t *value,
                     const char *must);

/* 1 to ENTRY_MOST_NAME of A-Z a-z 0-9 _ -, not beginning with a digit: what
 * models take as the name of a function. */
bool entry_name_is_good(const char *name);

/* Reads an integer of 1 to most. Error: bad_setting. */
bool entry_number(uint64_t *number, const json_t *value, json_int_t most,
                  const char *member, struct err *err);

/* Whether it is a URL of http or https with a server, without a fragment, and
 * without bytes that must be escaped. Error: bad_setting. */
bool entry_check_url(const char *url, struct err *err);

#endif
