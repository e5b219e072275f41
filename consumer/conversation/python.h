/* python.h - tells whether a text may be whole Python, without a parser.
 *
 * Follows strings, comments, brackets and continued lines as Python 3.11 does:
 * enough to tell that a text stops in the middle of something, not that it is
 * right. The consumer has no Python, on purpose. */
#ifndef CONSUMER_PYTHON_H
#define CONSUMER_PYTHON_H

#include "schemas/message/view.h"

enum { PYTHON_MAX_DEPTH = 200 }; /* of brackets: Python's own limit */

/* The state of reading code, byte by byte. Zeroed at its start. */
struct python {
    char quote;  /* of the string that is open; 0: none */
    bool triple; /* it has three of them */
    bool comment;
    bool continued; /* the line ends with a backslash */
    bool broken;    /* nothing that follows can make it whole */
    char last;      /* the last byte of code that is no blank */
    size_t depth;
    char open[PYTHON_MAX_DEPTH]; /* the brackets */
};

/* Reads on. A piece must not end inside of a line's ending (\r\n) or of three
 * quotes. */
void python_feed(struct python *python, struct view piece);

/* A string, or a comment, is open: what comes is text, and no mark. */
bool python_in_text(const struct python *python);
/* A statement may begin here. */
bool python_between(const struct python *python);

/* The code does not stop in the middle of something. Empty code is whole. */
bool python_is_whole(struct view code);

/* Whether it is Python at all, by the beginnings of its lines: words in a row
 * are prose; imports, definitions, assignments and calls are Python. */
enum python_guess { PYTHON_NO, PYTHON_MAYBE, PYTHON_YES };
enum python_guess python_guess(struct view code);

#endif
