/* window.h - what of a long conversation fits into the model's window.
 *
 * Messages that belong together stay together: a call without its result, or a
 * result without its call, makes every later request fail. So the oldest
 * *groups* are left out, an assistant's message with all that came of it. The
 * system message and the first message of the user, which is the task, stay.
 *
 *   system, what was said in the session before, task, groups
 *           `-- first ------- both the oldest first ------'
 *
 * What was said before goes first, question and answer together.
 *
 * Tokens are estimated from the bytes: four of ASCII are one, and a character
 * beyond is one. What endpoints count corrects that (conversation->scale). */
#ifndef CONSUMER_WINDOW_H
#define CONSUMER_WINDOW_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/message/view.h"

enum { IMAGE_TOKENS = 1000 };

/* Of a message, or of anything else that a request holds. */
uint64_t window_tokens(const json_t *json);
uint64_t window_text_tokens(struct view text);

/* Messages (borrowed), and where of them begins what is kept whatever is left
 * out: [said, task) was said before, [task, head) is what the user wants. */
struct window {
    const json_t *messages;
    size_t said, task, head;
};

/* said: how many behind the system messages were said before; an even number.
 */
struct window window_of(const json_t *messages, size_t said);

/* Tokens of what stays; of what is behind cut, but that. */
uint64_t window_fixed(const struct window *window);
uint64_t window_behind(const struct window *window, size_t cut);

/* The position of the first message that is kept of those that need not be, so
 * that those have at most so many tokens: where a group begins, at or after
 * from. The last group is kept whatever its size. */
size_t window_cut(const struct window *window, size_t from, uint64_t tokens);

/* What stands for the messages before a place that need not be kept; no text:
 * there is none. */
struct window_summary {
    struct view text;
    size_t until;
};

/* As it is sent: what stays, notes of what is left out, and what stands from
 * cut on. A summary takes the place of the notes, and says what it does not
 * tell of. A new reference. */
json_t *window_apply(const struct window *window, size_t cut,
                     const struct window_summary *summary);

#endif
