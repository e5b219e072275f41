/* prompt.h - what every model is told before anything else, and what we tell it
 * of replies that cannot be acted on.
 *
 * The instructions are the files of prompts/, one for each mode and language,
 * one for a model that is offered no Python, two of files that a user has
 * uploaded (what is told of them, and what the user says who has said nothing
 * else), and one of who summarises what a long conversation leaves out;
 * a folder of the operator's may have others under the same names. Who writes
 * Chinese is answered best by a model that is told so in Chinese. */
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

/* folder: "" means ours. What it does not have is ours; a file that is there
 * must be UTF-8 and no longer than MAX_PROMPT_BYTES. Error: bad_setting. */
bool prompts_load(struct prompts *prompts, const char *folder, struct err *err);
void prompts_finish(struct prompts *prompts);

/* Of a text that a user wrote: most of its letters are Han, none are kana. */
enum language language_of(struct view text);

/* Of the instructions. tools: that the model is offered; NULL: CodeAct mode. */
enum prompt prompt_of(const struct job *job, const json_t *tools);

/* Borrowed; without line ends behind it. own: it is the operator's: one who has
 * a PROMPT_TOOLS and no PROMPT_PLAIN means the former for all. */
struct view prompt_text(const struct prompts *prompts, enum prompt prompt,
                        enum language language, bool *own);

/* In which a job of files and nothing else is spoken for. */
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

/* Initializes out. */
void prompt_write(struct buf *out, const struct instructions *from,
                  const struct job *job);

/* What the model is told when its reply was cut inside a tool call; when its
 * block of code was; when it wrote neither code nor an answer (CodeAct mode);
 * when it wrote nothing at all (tools mode); when what it did leads nowhere, is
 * not done any more, and when it is to answer now. */
extern const char prompt_cut[], prompt_unclosed[], prompt_idle[];
extern const char prompt_empty[];
/* The endpoint has stopped in the middle of a turn, and wants to go on. */
extern const char prompt_pause[];
/* A person has thrown its reply away. */
extern const char prompt_regenerate[];
extern const char prompt_circles[], prompt_forbidden[], prompt_last[];

extern const char prompt_tools_en[], prompt_tools_zh[];
extern const char prompt_codeact_en[], prompt_codeact_zh[];
extern const char prompt_files_en[], prompt_files_zh[];
extern const char prompt_upload_en[], prompt_upload_zh[];
extern const char prompt_plain_en[], prompt_plain_zh[];
extern const char prompt_summary_en[], prompt_summary_zh[];

#endif
