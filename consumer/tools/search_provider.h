/* search_provider.h - who is asked what the web has, and how.
 *
 * Each has a form of its own for the request and for the answer; here they
 * become one. Their answers are data: nothing in them is taken for granted. */
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
    const char *name;
    const char *variable; /* of its key, for sentences; NULL: it needs none */
    bool is_page;  /* it answers in HTML, which a reader reads (document.h) */
    bool serially; /* it wants one request at a time */
    /* path: what comes behind the base URL. body: empty for a GET. header: how
     * the key is sent, NULL: not at all. */
    const char *header;
    void (*ask)(const char *query, int count, struct buf *path,
                struct buf *body);
    /* Fills results, and *answer if it has one: new reference. Error: why the
     * answer is not what it should be. */
    bool (*read)(const json_t *reply, json_t *results, json_t **answer,
                 struct err *err);
};

/* The most wanted first; NULL behind the last one. */
const struct search_provider *search_provider(size_t number);

#endif
