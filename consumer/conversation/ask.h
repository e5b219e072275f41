/* ask.h - the messages of a request: instructions, and as much of the
 * conversation as the window holds. */
#ifndef CONSUMER_ASK_H
#define CONSUMER_ASK_H

#include "consumer/conversation/conversation.h"
#include "consumer/conversation/prompt.h"

/* What the messages depend on beside the conversation. All is borrowed. */
struct ask {
    const struct prompts *prompts;
    struct view functions; /* stubs of what code may call; CodeAct mode */
    struct view libraries; /* that code may import, with commas */
    const json_t *tools;   /* that are offered; NULL: CodeAct mode */
    uint64_t window;       /* tokens that the model can read; 0: nobody knows */
    size_t pictures;       /* that will be added at most */
    bool last;             /* ask for the last answer */
    bool squeeze;          /* the request before was too long: leave out more */
};

struct request_messages {
    json_t *messages;  /* a new reference */
    size_t kept;       /* where what is kept begins, see window_cut() */
    uint64_t tokens;   /* our estimate */
    uint64_t expected; /* what the endpoint will count, to judge by the past */
};

/* The language of the instructions: that of the first message of the user, also
 * when that was in an earlier job of the session. So the instructions stay the
 * same throughout, and endpoints charge less for a beginning that they have
 * cached. */
enum language ask_language(const struct conversation *conversation);

/* Error: model_context, there is nothing more that can be left out. */
bool ask_write(const struct conversation *conversation, const struct ask *ask,
               struct request_messages *out, struct err *err);

/* A request for a summary of what ask_write() would leave out and the request
 * before did not. out->kept: the place up to which the summary is to tell. What
 * is sent of these messages fills half of the window at most, or, if that is
 * not known, half of what was too long for it. False: nothing more would be
 * left out, or the window has no room for a summary and a conversation behind
 * it. */
bool ask_summary(const struct conversation *conversation, const struct ask *ask,
                 struct request_messages *out);

#endif
