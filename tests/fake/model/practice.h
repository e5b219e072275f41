/* practice.h - what the practice model answers when no script does. */
#ifndef PRACTICE_PRACTICE_H
#define PRACTICE_PRACTICE_H

#include <jansson.h>

/* The messages after the last one of the user: how many have that role. */
size_t practice_count(const json_t *messages, const char *role);

/* The text of the last message of the user, parts joined; a new string. */
json_t *practice_question(const json_t *messages);

/* A reply object as in README.md; a new reference. */
json_t *practice_reply(const json_t *request);

#endif
