/* python.h - whether bytes may be whole Python, without a parser.
 *
 * Follows strings, comments, brackets and continued lines as Python 3.11 does:
 * enough to tell that a text stops in the middle of something, not that it is
 * right. The consumer has no Python, on purpose. */
#ifndef CONSUMER_PYTHON_H
#define CONSUMER_PYTHON_H

#include "schemas/message/view.h"

enum { PYTHON_MAX_DEPTH = 200 }; /* of brackets: Python's own limit */

/* Where some Python has got to. Zeroed at its start. */
struct python {
    char quote;  /* of the string that is open; 0: none */
    bool triple; /* it has three of them */
    bool comment;
    bool continued; /* a backslash was last */
    bool broken;    /* nothing that follows makes it whole */
    char last;      /* byte of code */
    size_t depth;
    char open[PYTHON_MAX_DEPTH]; /* the brackets */
};

/* A piece may end anywhere but in a line's ending and between quotes. */
void python_feed(struct python *python, struct view piece);

/* A string, or a comment, is open: what comes is text, and no mark. */
bool python_in_text(const struct python *python);
/* A statement may begin here. */
bool python_between(const struct python *python);

bool python_is_whole(struct view code);

/* Is it Python at all? By the beginnings of its lines: names in a row are
 * prose; imports, definitions, assignments and calls are Python. */
enum python_guess { PYTHON_NO, PYTHON_MAYBE, PYTHON_YES };
enum python_guess python_guess(struct view code);

#endif
