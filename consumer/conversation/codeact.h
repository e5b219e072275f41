/* codeact.h - what a message of a model in CodeAct mode says: code to run, or
 * an answer.
 *
 * Such a model acts by writing Python in its text: in fences that say so, or
 * between <execute> tags. A pure function of the text, of any bytes, in linear
 * time. These rules decide, in this order:
 *
 *   reasoning       is left out first: <think>...</think> and the like, and all
 *                   before a lone closing tag. When a tag is never closed, and
 *                   the model stopped by itself, it will not say more: then the
 *                   tag is ignored. Else all after the tag is reasoning
 *   observations    that the model made up (a line "Observation:" or "Output:"
 *                   after code) end the text: what follows relies on them
 *   code            is all blocks in order. When some are in <execute>, only
 *                   these count, because the fences then illustrate. When there
 *                   is also an answer, the code counts, because the model gave
 *                   the answer before the code had run
 *   bare fences     that look like Python are code when there is neither code
 *                   nor an answer. Outputs and quotations have such fences,
 *                   too; but to run one wrongly costs less than to end the job
 *                   wrongly. A text that is nothing but Python is code as well
 *   the answer      is the text after the last "FINAL ANSWER:", or in the last
 *                   <solution>; else all of the text but reasoning
 *
 * The code that is given has \n at the ends of lines, no common indentation, no
 * prompts (>>>), and no outputs that stood between prompts. */
#ifndef CONSUMER_CODEACT_H
#define CONSUMER_CODEACT_H

#include "schemas/message/buf.h"

struct codeact {
    struct buf code;   /* of all blocks, joined by an empty line; empty: none */
    struct buf answer; /* trimmed, any bytes; empty unless final */
    /* It gives an answer and no code. A text of reasoning only, or of nothing,
     * is neither: there is nothing to show, and it should be asked for again.
     */
    bool final;
    bool invented; /* the model made up an observation: the text ends before it
                    */
    /* A block was cut off: it has no end, and it is not whole Python or the
     * model did not stop by itself. It is not run, and there is no answer. */
    bool unclosed;
    size_t blocks; /* of code */
    size_t cut;    /* the first so many bytes of the text count */
};

struct codeact_rules {
    /* Whether bytes are whole Python; NULL: python_is_whole(), which knows
     * strings and brackets. Decides whether a mark really ends a block, or
     * stands in a string of it, and whether a block without an end is run. */
    bool (*parses)(void *owner, struct view code);
    void *owner;
    bool stopped; /* the model stopped by itself: the text was not cut off */
};

/* Sets all of out, which need not be initialized. rules: NULL: as zeroed. */
void codeact_read(struct codeact *out, struct view text,
                  const struct codeact_rules *rules);
void codeact_finish(struct codeact *out);

#endif
