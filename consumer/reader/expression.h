/* expression.h - what a mathematical expression comes to.
 *
 * In numbers with 15 digits, as the text of one: whole ones up to 2^53 as they
 * are, others as 1.41421356237310 or 1e+20. Hostile bytes: length and depth are
 * bounded here, time only by the process that it runs in. */
#ifndef CONSUMER_EXPRESSION_H
#define CONSUMER_EXPRESSION_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum { MAX_EXPRESSION = 1000, MAX_EXPRESSION_DEPTH = 100 };

/* + - * / // % ^ ** ! ( ), comparisons, c ? a : b; pi, e, tau; sqrt, sin, log,
 * round, gcd, comb and the like. x, division and minus signs as people print
 * them mean what they show. Error: bad_field, a sentence for whoever calls. */
bool expression_evaluate(struct view expression, struct buf *out,
                         struct err *err);

#endif
