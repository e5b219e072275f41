/* passage.h - the passages of a message, one after the other: prose,
 * reasoning, blocks of code, answers in tags.
 *
 *   prose --<think>--> thought          ends with its tag, or not at all
 *         --<solution>--> solution      ends with its tag, or is a label only
 *         --```python, <execute>--> code
 *         --```--> bare                 a fence that says no language
 *         --```json--> other
 *
 * A mark that would end code does not when it stands inside a string of it: the
 * code goes on to the next one, and ends at the first when none is outside.
 * Reads ahead in vain at most about as much as it reads, so that any text takes
 * linear time; behind that, marks are taken as they stand. */
#ifndef CONSUMER_PASSAGE_H
#define CONSUMER_PASSAGE_H

#include "schemas/message/view.h"

enum passage_kind {
    PASSAGE_PROSE,    /* a line, or what is left of it, or a piece */
    PASSAGE_THOUGHT,  /* reasoning */
    PASSAGE_CLOSING,  /* the end of reasoning that nobody has opened */
    PASSAGE_CODE,     /* Python that is meant to be run */
    PASSAGE_BARE,     /* a fence that says no language */
    PASSAGE_OTHER,    /* a fence of another language */
    PASSAGE_SOLUTION, /* an answer between its tags */
};

struct passage {
    enum passage_kind kind;
    struct view whole; /* with its marks */
    struct view body;  /* between them */
    bool starts_line;
    bool closed; /* code and solutions: not ended by the end of the text */
};

struct passages {
    struct view text;
    /* Whether a block's bytes are whole Python; NULL: as python.h says. */
    bool (*parses)(void *owner, struct view body);
    void *owner;
    bool stopped; /* the text is what its author meant to say */
    size_t at;    /* what comes before has been read */
    size_t item;  /* column of the text of a list's item; markdown.h */
    size_t in_vain;
    unsigned never; /* tags whose closing ones do not come, a bit each */
};

/* Where the text begins behind reasoning that was opened before it, by the
 * chat's template: a closing tag is the first of its name. */
size_t passages_start(struct view text);

/* false: there is none any more. */
bool passages_next(struct passages *passages, struct passage *passage);

#endif
