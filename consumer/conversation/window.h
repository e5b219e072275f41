/* window.h - what of a long conversation fits into the model's window.
 *
 * Messages that belong together stay together: a call without its result, or a
 * result without its call, makes every later request fail. So the oldest
 * *groups* are left out, an assistant's message with all that came of it. The
 * system message and the first message of the user, which is the task, stay.
 *
 * Tokens are estimated from the bytes: four of ASCII are one, and a character
 * beyond is one. What endpoints count corrects that (conversation->scale). */
#ifndef CONSUMER_WINDOW_H
#define CONSUMER_WINDOW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Of a message, or of anything else that a request holds. */
uint64_t window_tokens(const json_t *json);

/* How many messages at the beginning must stay: what is before the first
 * assistant's message, its system messages and the task. */
size_t window_head(const json_t *messages);

/* The position of the first message after the head that is kept, so that those
 * have at most so many tokens: where a group begins, at or after from. The last
 * group is kept whatever its size. */
size_t window_cut(const json_t *messages, size_t from, uint64_t tokens);

/* As it is sent: the head, a note of what is left out, and what stands from cut
 * on. A new reference. */
json_t *window_apply(const json_t *messages, size_t cut);

#endif
