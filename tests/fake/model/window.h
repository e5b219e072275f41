/* window.h - "window": a request of more tokens is refused, as llama.cpp
 * refuses it. */
#ifndef PRACTICE_WINDOW_H
#define PRACTICE_WINDOW_H

#include <jansson.h>

/* Of the request as it was heard: a digit is a token, as small models count;
 * four bytes of all else are one. A reply object, or NULL: it fits, or the
 * scripted reply names no window. */
json_t *window_refusal(const json_t *heard, const json_t *reply);

#endif
