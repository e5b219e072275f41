/* reply_size.h - how long a request was that an endpoint has refused as too
 * long, and how long it may be: by the sentence that says so. */
#ifndef CONSUMER_REPLY_SIZE_H
#define CONSUMER_REPLY_SIZE_H

#include <stdint.h>

/* Tokens of a window. Whatever says less, or more, does not speak of one. */
enum { LEAST_WINDOW = 512, MOST_WINDOW = 100000000 };

/* In tokens. 0: it does not say, or what is no window of a model. */
struct reply_size {
    uint64_t request; /* without what is left to its reply. Some count no
                         further than to their window */
    uint64_t window;
};

struct reply_size reply_size_read(const char *sentence);

/* What members of an error say of it, within these bounds. */
uint64_t reply_size_of(long long tokens);

#endif
