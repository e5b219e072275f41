/* ask.h - the messages of a request: what the model is told, and as much of the
 * conversation as the window holds.
 *
 * The instructions are the files of prompts/, in English and Chinese: models
 * answer users who write Chinese best when they are instructed in Chinese.
 * There is one for each mode, one for a model that is offered no Python, two
 * about files that a user has uploaded (what the model is told of them, and the
 * prompt of a user who wrote nothing), and one for a summary of what a long
 * conversation leaves out. A folder of the operator may have other ones under
 * the same names. */
#ifndef CONSUMER_ASK_H
#define CONSUMER_ASK_H

#include "consumer/conversation/conversation.h"

enum language { LANGUAGE_EN, LANGUAGE_ZH, LANGUAGES };
enum prompt {
    PROMPT_TOOLS = MODE_TOOLS,
    PROMPT_CODEACT = MODE_CODEACT,
    PROMPT_FILES,
    PROMPT_UPLOAD,
    PROMPT_PLAIN, /* in place of PROMPT_TOOLS, where there is no Python */
    PROMPT_SUMMARY,
    PROMPTS
};
enum { MAX_PROMPT_BYTES = 32 << 10 };

struct prompts {
    char *texts[PROMPTS][LANGUAGES]; /* the operator's; NULL: ours */
};

/* Reads the files of a folder; "": there is none. For a file that it does not
 * have ours is used. A file must be UTF-8 and no longer than MAX_PROMPT_BYTES.
 * Error: bad_setting. */
bool prompts_load(struct prompts *prompts, const char *folder, struct err *err);
void prompts_finish(struct prompts *prompts);

/* Which instructions the job needs. tools: that the model is offered; NULL:
 * CodeAct mode. */
enum prompt prompt_of(const struct job *job, const json_t *tools);

/* The text, borrowed, without line ends behind it. *own: it is the operator's.
 * An operator who has PROMPT_TOOLS and no PROMPT_PLAIN means the former for
 * both. */
struct view prompt_text(const struct prompts *prompts, enum prompt prompt,
                        enum language language, bool *own);

/* The language of the prompt that decide_upload() gives a job of files and
 * nothing else. */
enum language prompt_upload_language(const struct job *job);

/* What the model is told when its reply was cut inside a tool call, or inside a
 * block of code; when it wrote neither code nor an answer (CodeAct mode); when
 * it wrote nothing at all (tools mode). Below: when what it did leads nowhere;
 * when the brake refuses a call; when it is to give its last answer. */
extern const char prompt_cut[], prompt_unclosed[], prompt_idle[];
extern const char prompt_empty[];
/* The endpoint has stopped in the middle of a turn, and wants to go on. */
extern const char prompt_pause[];
/* A person has thrown the reply away and wants another one. */
extern const char prompt_regenerate[];
extern const char prompt_circles[], prompt_forbidden[], prompt_last[];

extern const char prompt_tools_en[], prompt_tools_zh[];
extern const char prompt_codeact_en[], prompt_codeact_zh[];
extern const char prompt_files_en[], prompt_files_zh[];
extern const char prompt_upload_en[], prompt_upload_zh[];
extern const char prompt_plain_en[], prompt_plain_zh[];
extern const char prompt_summary_en[], prompt_summary_zh[];

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
