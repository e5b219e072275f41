/* calls.h - reads what a reply asks to be done: in tools mode its tool calls;
 * in CodeAct mode the code in its text, which is one call of Python.
 *
 * Arguments: models write a JSON object in a string, the object itself, a
 * string inside a string, an object in a Markdown fence, JSON with bare
 * newlines, or just the code. All of them mean one thing.
 *
 * Calls in a text: servers without a parser for their model's tool calls leave
 * these in the content: <tool_call>{"name": ..., "arguments": ...}</tool_call>,
 * or the JSON alone. They are taken for calls if each of them names a tool that
 * the job may call, with arguments that the tool takes. Else the text stays a
 * text.
 *
 * Calls of functions of the job are for the caller, see conversation.h. */
#ifndef CONSUMER_CALLS_H
#define CONSUMER_CALLS_H

#include "consumer/conversation/terms.h"

/* Appends to out the text member called name of the object. raw: arguments that
 * are not JSON at all are taken for that member. Error: bad_field, with a
 * sentence that the model can act on. */
bool arguments_text(struct view arguments, const char *name, bool raw,
                    struct buf *out, struct err *err);

/* Appends to out the object that the arguments mean, as JSON; byte for byte, if
 * they are one. text: the member that a text alone stands for; NULL: none. No
 * arguments at all mean an empty object. Error: bad_field. err may be NULL. */
bool arguments_object(struct view arguments, const char *text, struct buf *out,
                      struct err *err);

/* The message of a whole reply, with calls in its text moved from its content
 * to "tool_calls": a new reference, to message itself if there are none. */
json_t *text_calls_read(json_t *message, const struct terms *terms,
                        const struct job *job);

struct reply_meaning {
    struct view answer; /* when there is nothing to be done */
    bool paused; /* the reply will go on; answer is the beginning of one */
    struct view notice; /* for the model, if nothing can be done; else empty */
    bool empty; /* with a notice: because the reply says nothing at all */
};

/* Of a job of kind code: each of its cells is a call. */
void calls_of_cells(struct conversation *conversation);

/* Replaces conversation->calls. message is changed into what later requests
 * will say of it, because endpoints refuse histories that are wrong: ids become
 * unique, arguments become JSON, and observations that the model has made up
 * are cut off. Views of the result are in the arena of the conversation, or
 * literals, or of the record. */
struct reply_meaning calls_of_reply(struct conversation *conversation,
                                    json_t *message,
                                    const struct record *record);

#endif
