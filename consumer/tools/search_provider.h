/* search_provider.h - the services that search the web, and how each is asked.
 *
 * Each has its own form of request and answer; here they get one form. Answers
 * are not trusted: a member that is not as expected is left out or cut. */
#ifndef CONSUMER_SEARCH_PROVIDER_H
#define CONSUMER_SEARCH_PROVIDER_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MAX_SEARCH_QUERY = 1000, /* bytes */
    MAX_SEARCH_RESULTS = 20,
    MAX_SEARCH_TEXT = 2000, /* bytes of a result's text, of an answer */
    MAX_SEARCH_HEADERS = 4,
};

struct search_provider {
    const char *name;     /* as settings and answers have it */
    const char *variable; /* that has its key, for sentences; NULL: no key */
    bool is_page;         /* it answers in HTML, which quern-reader reads */
    bool serially;        /* it wants one request at a time */
    const char *header;   /* "Name: " of the key's header; NULL: no key */
    /* Appends to path what comes behind the base URL, and to body the body of a
     * POST; no body means GET. */
    void (*ask)(const char *query, int count, struct buf *path,
                struct buf *body);
    /* reply: an object; of a page, what the reader has made of it. Appends to
     * results, a list of {title, url, text, published?}, perhaps more than were
     * wanted, and sets *answer, a new reference, if the reply has one. Error:
     * what is wrong with the reply. */
    bool (*read)(const json_t *reply, json_t *results, json_t **answer,
                 struct err *err);
};

/* The providers in the order in which they are asked by default; NULL behind
 * the last one. */
const struct search_provider *search_provider(size_t number);

#endif
