/* ask.h - the messages of a request: instructions, and as much of the
 * conversation as the window holds. */
#ifndef CONSUMER_ASK_H
#define CONSUMER_ASK_H

#include "consumer/conversation/conversation.h"
#include "consumer/conversation/prompt.h"

struct ask {
    const struct prompts *prompts;
    struct view functions; /* stubs of what code may call; CodeAct mode */
    struct view libraries; /* that code may import, with commas */
    const json_t *tools;   /* that are offered; NULL: CodeAct mode */
    uint64_t window;       /* tokens of the model's; 0: nobody knows */
    size_t pictures;       /* at most, that come to it */
    bool last;             /* an answer is asked for */
    bool squeeze;          /* what was sent before was too long */
};

struct request_messages {
    json_t *messages;  /* a new reference */
    size_t kept;       /* see window_cut() */
    uint64_t tokens;   /* our estimate, as it is */
    uint64_t expected; /* the same, as the endpoint will count */
};

/* The instructions' language: that of the first message of the user, in the
 * session too, so that they stay as they are: endpoints charge less for a
 * beginning that they know. */
enum language ask_language(const struct conversation *conversation);

/* Error: model_context, there is nothing more that can be left out. */
bool ask_write(const struct conversation *conversation, const struct ask *ask,
               struct request_messages *out, struct err *err);

/* In its place: a summary of what that would leave out, and what was sent
 * before did not. kept: where it ends. What is sent of it fills half of the
 * window, where that is not known half of what was too long for it. False:
 * nothing more would be left out, or there is no room for a summary behind
 * which something could be said yet. */
bool ask_summary(const struct conversation *conversation, const struct ask *ask,
                 struct request_messages *out);

#endif
