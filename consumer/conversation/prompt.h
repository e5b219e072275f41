/* prompt.h - the instructions that every request begins with, and what the
 * model is told of replies that cannot be acted on.
 *
 * The instructions are the files of prompts/, in English and Chinese: models
 * answer users who write Chinese best when they are instructed in Chinese.
 * There is one for each mode, one for a model that is offered no Python, two
 * about files that a user has uploaded (what the model is told of them, and the
 * prompt of a user who wrote nothing), and one for a summary of what a long
 * conversation leaves out. A folder of the operator may have other ones under
 * the same names. */
#ifndef CONSUMER_PROMPT_H
#define CONSUMER_PROMPT_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/job.h"

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

/* The language of a text that a user wrote: Chinese if most of its letters are
 * Han, and none are kana. */
enum language language_of(struct view text);

/* Which instructions the job needs. tools: that the model is offered; NULL:
 * CodeAct mode. */
enum prompt prompt_of(const struct job *job, const json_t *tools);

/* The text, borrowed, without line ends behind it. *own: it is the operator's.
 * An operator who has PROMPT_TOOLS and no PROMPT_PLAIN means the former for
 * both. */
struct view prompt_text(const struct prompts *prompts, enum prompt prompt,
                        enum language language, bool *own);

/* The language of the prompt that decide_upload() gives a job of files and
 * nothing else.
 */
enum language prompt_upload_language(const struct job *job);

/* What the instructions for a job are made of; each view may be empty. */
struct instructions {
    const struct prompts *prompts;
    enum prompt prompt; /* of prompt_of() */
    enum language language;
    struct view functions; /* stubs of what code may call */
    struct view libraries; /* that it may import, with commas */
    struct view own;       /* the system message of the job */
};

/* Writes the system message of a request. Initializes out. */
void prompt_write(struct buf *out, const struct instructions *from,
                  const struct job *job);

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

#endif
