/* expression.h - evaluates a mathematical expression.
 *
 * The value is a double, written as a number: integers below 2^53 with all
 * digits, others with 15 digits, as 1.4142135623731 or 1e+20. The expression is
 * hostile: its length and the number of its parentheses are bounded here, time
 * by the process (main.c). */
#ifndef CONSUMER_EXPRESSION_H
#define CONSUMER_EXPRESSION_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum { MAX_EXPRESSION = 1000, MAX_EXPRESSION_DEPTH = 100 };

/* Appends the value. Allowed are + - * / // % ^ ** ! ( ), comparisons,
 * c ? a : b; pi, e, tau; sqrt, sin, log, round, gcd, comb and the like, and the
 * signs for times, divided by and minus that people print. Error: bad_field, a
 * sentence for the caller. */
bool expression_evaluate(struct view expression, struct buf *out,
                         struct err *err);

#endif
