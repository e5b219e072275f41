/* http_head.h - the head of a request, checked more strictly than llhttp does.
 *
 * A head that two servers may read in two ways lets a client smuggle a request
 * past the first one. So a head is refused when anything of it is not exactly
 * as RFC 9112 has it, also what the RFC allows a server to mend: bare CR or LF,
 * control bytes, folded lines, blanks around the request line's parts or before
 * a colon, blank lines before it, two lengths, a length beside
 * Transfer-Encoding, any coding but one "chunked", any version but 1.0 and 1.1,
 * Transfer-Encoding in 1.0, no or two Host, Upgrade, CONNECT, TRACE and unknown
 * methods. llhttp reads the same bytes afterwards and frames the body: when the
 * two disagree, the request is refused, too. */
#ifndef PRODUCER_GATEWAY_HTTP_HEAD_H
#define PRODUCER_GATEWAY_HTTP_HEAD_H

#include <stdint.h>

#include "producer/gateway/http/http_target.h"

enum http_method_kind {
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_PATCH,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_OPTIONS,
    HTTP_METHODS,
};

/* Looks at a head's bytes as they come. */
struct http_head_scan {
    uint8_t line_bytes; /* of the line; stops at 1 */
    uint8_t last;       /* byte */
    uint8_t lines;      /* that have ended; stops at 1 */
};

enum http_head_found {
    HTTP_HEAD_MORE,
    HTTP_HEAD_WHOLE,
    HTTP_HEAD_BAD, /* a bare CR or LF, a control byte, a blank first line */
};

/* Reads up to the end of the head; *used is how many bytes belong to it. */
enum http_head_found http_head_scan(struct http_head_scan *scan,
                                    struct view bytes, size_t *used);

struct http_field {
    struct view name, value; /* value: without white space at its ends */
};

struct http_head {
    enum http_method_kind method;
    uint8_t minor; /* of the version 1.minor */
    bool is_chunked;
    bool has_length;
    bool keeps_alive; /* the peer wants it */
    bool expects_continue;
    uint64_t length; /* of has_length */
    unsigned int field_count;
    struct view raw_target; /* until it is decoded; never a whole URL */
    struct http_field fields[HTTP_MAX_FIELDS];
    struct http_target target;
};

/* Parses what http_head_scan() has found whole, and keeps views into it. False:
 * err says why, *status is the answer's: 400, or 417 or 431; each of them ends
 * the connection. */
bool http_head_parse(struct http_head *head, struct view text,
                     unsigned int *status, struct err *err);

/* The only value of that name, without regard to case; "" when it is absent.
 * False with err when there are several. */
bool http_head_value(const struct http_head *head, const char *name,
                     struct view *value, struct err *err);

const char *http_method_text(enum http_method_kind method);

#endif
