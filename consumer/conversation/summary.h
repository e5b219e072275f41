/* summary.h - what stands for the messages that a long conversation leaves out,
 * where the operator wants them summarised: the model is asked for it in a call
 * of its own, before the first request that would leave them out.
 *
 *   model_intent (purpose summary) --model_reply--> its text stands for them,
 *        |                   |            '-- or there is none: they are left
 *        |                   |                out, as where nobody asks for it
 *        '---refused: again--'--failed, with a last--> the same
 *
 * From each of these ends on what is sent begins at the place that the intent
 * has named, so the same messages are not summarised again and again. */
#ifndef CONSUMER_SUMMARY_H
#define CONSUMER_SUMMARY_H

#include "consumer/conversation/conversation.h"
#include "consumer/conversation/window.h"

enum { MAX_SUMMARY_BYTES = 8 << 10 };

/* The fold: it is asked for; its reply has come, message; it is done without.
 */
void summary_intend(struct conversation *conversation,
                    const struct record *intent);
void summary_take(struct conversation *conversation, const json_t *message);
void summary_forgo(struct conversation *conversation,
                   const struct record *record);

/* Whether the message of a reply has one. */
bool summary_is_in(const json_t *message);

/* That of what stands before the conversation now; no text: there is none. */
struct window_summary summary_of(const struct conversation *conversation);

/* Whether one is asked for, and nothing has come of it yet; up to where. */
bool summary_is_due(const struct conversation *conversation, size_t *until);

/* What is to be summarised. */
struct summary_source {
    const struct window *window;
    size_t from, to;     /* of its messages, but those that are kept */
    struct view earlier; /* the summary before; may be empty */
    uint64_t tokens;     /* at most; the oldest messages give way */
};

/* Initializes out: the text that the model is shown. */
void summary_write(struct buf *out, const struct summary_source *source);

#endif
