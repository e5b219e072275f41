/* script.h - replies that a test has laid down beforehand.
 *
 *   [REPLY, ...]                                  one conversation, any
 *   [{"match": TEXT, "replies": [REPLY, ...]}, ...]
 *
 * The conversation is the first whose match is part of the user's last
 * message (no match: every message). Its replies are taken by turn: one for
 * each answer of the assistant since; with "in_order": true one for each
 * request, whatever its history. In the place of a REPLY a list means the
 * first, second, ... time that this very request is made; its last item stays.
 */
#ifndef PRACTICE_SCRIPT_H
#define PRACTICE_SCRIPT_H

#include <jansson.h>

/* The reply for that request, seen so many times before; borrowed, or NULL
 * when the script has none. */
json_t *script_reply(json_t *script, const json_t *request, size_t seen);

#endif
