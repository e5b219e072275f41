/* window.h - what of a long conversation fits into the model's window, and the
 * summary that stands for the rest.
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
 * beyond is one. What endpoints count corrects that (ask.c).
 *
 * A summary replaces the messages that are left out, if the operator wants
 * that. The model is asked for it in a call of its own, before the first
 * request that would leave these messages out.
 *
 *   model_intent (purpose summary) --model_reply--> its text stands for them,
 *        |                   |            '-- or there is none: they are left
 *        |                   |                out, as where nobody asks for it
 *        '---refused: again--'--failed, with a last--> the same
 *
 * However the call ends, later requests begin at the place that the intent has
 * named, so that the same messages are not summarised again and again. */
#ifndef CONSUMER_WINDOW_H
#define CONSUMER_WINDOW_H

#include "consumer/conversation/conversation.h"

enum { IMAGE_TOKENS = 1000, MAX_SUMMARY_BYTES = 8 << 10 };

/* Estimates of a message, or of anything else that a request holds. */
uint64_t window_tokens(const json_t *json);
uint64_t window_text_tokens(struct view text);

/* The messages of a request, and where their parts begin: [0, said) are the
 * system messages, [said, task) was said before, [task, head) is what the user
 * wants, groups follow. The first and the third part are never left out. */
struct window {
    const json_t *messages; /* borrowed */
    size_t said, task, head;
};

/* said: how many messages behind the system messages were said before: two for
 * each exchange. */
struct window window_of(const json_t *messages, size_t said);

/* Tokens of what is never left out; and of the rest, from cut on. */
uint64_t window_fixed(const struct window *window);
uint64_t window_behind(const struct window *window, size_t cut);

/* The place where what is kept begins, among the messages that may be left out,
 * so that these have at most so many tokens: the beginning of a group, at or
 * after from. The last group is kept whatever its size. */
size_t window_cut(const struct window *window, size_t from, uint64_t tokens);

/* The text that stands for the messages left out before a place; empty: none
 * does. */
struct window_summary {
    struct view text;
    size_t until; /* it tells of messages before this place */
};

/* The messages as they are sent: what is never left out, notes that say how
 * many messages are missing, and what is kept from cut on. A summary takes the
 * place of the notes, and adds how many messages it does not tell of. A new
 * reference. */
json_t *window_apply(const struct window *window, size_t cut,
                     const struct window_summary *summary);

/* Applies records: a summary is asked for; its reply has come; there will be
 * none. */
void summary_intend(struct conversation *conversation,
                    const struct record *intent);
void summary_take(struct conversation *conversation, const json_t *message);
void summary_forgo(struct conversation *conversation,
                   const struct record *record);

/* Whether the message of a reply is a summary: a text without calls. */
bool summary_is_in(const json_t *message);

/* The summary that is valid with what stands before the conversation now; no
 * text: there is none. */
struct window_summary summary_of(const struct conversation *conversation);

/* Whether a summary is asked for, and nothing has come of it yet; until: the
 * place up to which it is to tell. */
bool summary_is_due(const struct conversation *conversation, size_t *until);

/* What is to be summarised. */
struct summary_source {
    const struct window *window;
    size_t from, to;     /* of its messages; those never left out are skipped */
    struct view earlier; /* the summary before; may be empty */
    uint64_t tokens;     /* of all, at most; the oldest messages are left out */
};

/* Initializes out: the text from which the model is to make the summary. */
void summary_write(struct buf *out, const struct summary_source *source);

#endif
