/* http_target.h - a request's target, decoded once: path segments and query.
 *
 * "/v1/responses/resp_1?stream=true&after=3" has the segments v1, responses,
 * resp_1 and the pairs stream=true, after=3. Refused are: a target that does
 * not begin with one "/" (but "*" of OPTIONS, which has no segments); an empty
 * segment but for a last one, which is dropped ("/v1/" is "/v1"); "." and
 * ".."; "%" without two hexadecimal digits; %00, %2f and %5c in a path, %00 in
 * a query; bytes outside of visible ASCII; decoded bytes that are no UTF-8. */
#ifndef PRODUCER_GATEWAY_HTTP_TARGET_H
#define PRODUCER_GATEWAY_HTTP_TARGET_H

#include "producer/gateway/http/http_limits.h"
#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct http_pair {
    struct view name, value;
};

struct http_target {
    struct view segments[HTTP_MAX_SEGMENTS];
    struct http_pair pairs[HTTP_MAX_PAIRS];
    unsigned int segment_count, pair_count;
};

/* Decodes in place: text is overwritten, and the views point into it. */
bool http_target_decode(struct http_target *target, char *text, size_t len,
                        struct err *err);

#endif
