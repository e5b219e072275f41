/* summary.h - a summary replaces the messages that a long conversation leaves
 * out, if the operator wants that. The model is asked for the summary in a call
 * of its own, before the first request that would leave these messages out.
 *
 *   model_intent (purpose summary) --model_reply--> its text stands for them,
 *        |                   |            '-- or there is none: they are left
 *        |                   |                out, as where nobody asks for it
 *        '---refused: again--'--failed, with a last--> the same
 *
 * However the call ends, later requests begin at the place that the intent has
 * named, so that the same messages are not summarised again and again. */
#ifndef CONSUMER_SUMMARY_H
#define CONSUMER_SUMMARY_H

#include "consumer/conversation/conversation.h"
#include "consumer/conversation/window.h"

enum { MAX_SUMMARY_BYTES = 8 << 10 };

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
