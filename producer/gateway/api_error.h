/* api_error.h - errors of quern as answers of HTTP.
 *
 * {"error": {"message", "type", "param", "code"}}, code being quern's error
 * code ("Error codes" in schemas/MESSAGES.md). */
#ifndef PRODUCER_GATEWAY_API_ERROR_H
#define PRODUCER_GATEWAY_API_ERROR_H

#include "producer/gateway/http/http_request.h"
#include "schemas/message/err.h"

/* 400, 404, 409, 413, 429, 500 or 503. */
unsigned int api_error_status(const struct err *err);

/* Appends the JSON of the error. param: NULL: the path with which the sentence
 * begins, if it does ("files[2].blob is required"). */
void api_error_write(unsigned int status, const struct err *err,
                     const char *param, struct buf *body);

#endif
