/* passage.h - the passages of a message, one after the other: prose,
 * reasoning, blocks of code, answers in tags.
 *
 *   prose --<think>--> thought          ends with its tag, or not at all
 *         --<solution>--> solution      ends with its tag, or is a label only
 *         --```python, <execute>--> code
 *         --```--> bare                 a fence that says no language
 *         --```json--> other
 *
 * A mark inside a string of the code does not end the code; the next mark
 * outside of strings does. If there is none, the first mark ends the code after
 * all. To find that out, the text is read ahead. All such reading in vain may
 * take about the length of the text, so that any text takes linear time. When
 * that is used up, the first mark counts, inside of a string or not. */
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
    bool stopped;   /* the text is what its author meant to say */
    size_t at;      /* the first so many bytes were read */
    size_t item;    /* column of the text of a list's item, see markdown.h */
    size_t in_vain; /* bytes that were read ahead in vain */
    unsigned never; /* tags whose closing ones do not come, a bit each */
};

/* Where the text begins when its reasoning was opened before it, by the chat
 * template of the model: then a closing tag is the first one of its name. */
size_t passages_start(struct view text);

/* The next passage. False: there is none any more. */
bool passages_next(struct passages *passages, struct passage *passage);

#endif
