/* route.h - what the gateway answers: one table of methods and paths.
 *
 * What does not fit the table is answered from it, before a handler sees the
 * request: 404 for another path, 405 with Allow for another method, 401 and 403
 * for a key that lacks the scope, 415 and 413 for the body, 400 for a query
 * that the route does not know. A handler gets what is left (api_request.h).
 *
 * A folder of routes has its own table; routes.c lists the tables. */
#ifndef PRODUCER_GATEWAY_ROUTE_H
#define PRODUCER_GATEWAY_ROUTE_H

#include "producer/gateway/http/http_head.h"

struct api_request;

/* What a key allows; a set of bits. The words are those of the key's record. */
enum scope {
    SCOPE_NONE = 0,         /* no key is needed */
    SCOPE_SUBMIT = 1 << 0,  /* to submit jobs and blobs, and to change the jobs
                               of the tenant */
    SCOPE_READ = 1 << 1,    /* to read the tenant's jobs, events, results */
    SCOPE_OPERATE = 1 << 2, /* to do the same to all tenants, and to queues */
    SCOPE_ADMIN = 1 << 3,   /* to make keys, and webhooks of the tenant */
};
/* "submit"; scope is one bit. */
const char *scope_word(enum scope scope);
/* The bit of a word; SCOPE_NONE: there is none of that name. */
enum scope scope_of_word(struct view word);

enum route_body {
    ROUTE_NO_BODY,
    ROUTE_JSON,        /* application/json; may be absent */
    ROUTE_JSON_NEEDED, /* the same; must be there */
    ROUTE_FORM,        /* multipart/form-data, in pieces */
    ROUTE_FORM_JSON,   /* the same, or application/json of up to 16 KiB */
    ROUTE_BYTES,       /* any type, in pieces */
};

enum { ROUTE_MAX_PARAMS = 4 };

struct api_route {
    enum http_method_kind method; /* GET: HEAD, too */
    const char *pattern;          /* "/v1/jobs/{id}/events" */
    enum scope scope;             /* one of them */
    /* Called when the key is known and a JSON body has come whole; of a body in
     * pieces, before it (api_request_receive()). */
    void (*handle)(struct api_request *request);
    enum route_body body;
    size_t max_body;          /* bytes */
    const char *const *query; /* names that the query may have, each once; ends
                                 in NULL. NULL: none */
    bool short_errors;        /* {"error": "..."} in place of an object */
};

struct route_table {
    const struct api_route *routes;
    size_t count;
    const char *name; /* for metrics: one of those in numbers.c */
};
/* routes.c: all tables; ends in NULL. */
extern const struct route_table *const route_tables[];

enum { ROUTE_ALLOW_BYTES = 64 };

struct route_match {
    const struct api_route *route;        /* NULL: none */
    const char *kind;                     /* the name of its table */
    struct view params[ROUTE_MAX_PARAMS]; /* of {...}, in their order */
    /* Without a route: the methods that the path has, "GET, POST"; "": there is
     * no such path. */
    char allow[ROUTE_ALLOW_BYTES];
};

/* Views of the match point into the head. */
void route_find(struct route_match *match,
                const struct route_table *const *tables,
                const struct http_head *head);

#endif
