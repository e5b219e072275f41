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

/* param: NULL: the path with which the sentence begins, if it does
 * ("files[2].blob is required"). Does not end the request: api_request.h does.
 */
void api_error_answer(struct http_exchange *exchange, unsigned int status,
                      const struct err *err, const char *param,
                      const struct http_pair *headers, unsigned int count);

#endif
