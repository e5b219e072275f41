/* signature.h - signs requests, so that the operator's own servers can check
 * them.
 *
 *   "sign": {"secret": "${ORDERS_SECRET}", "key_id": "quern-2026"}
 *
 * signs each request as RFC 9421 (HTTP Message Signatures) says, by
 * hmac-sha256: method, path, query, the digest of the body (RFC 9530), the
 * headers that name the job, and the time. ../TOOLS.md has what a server
 * checks. */
#ifndef CONSUMER_SIGNATURE_H
#define CONSUMER_SIGNATURE_H

#include "consumer/tools/headers.h"

/* How the requests of a tool are signed. secret NULL: they are not. */
struct signing_key {
    char *secret, *key_id;
};

/* value: {secret, key_id}. Adds the secret to those of headers, because the
 * server has it, too, and could repeat it. Error: bad_setting; it never repeats
 * the secret. What was read so far is for signing_finish() to free. */
bool signing_read(struct signing_key *signing, struct headers *headers,
                  const json_t *value, struct err *err);
void signing_finish(struct signing_key *signing); /* accepts a zeroed one */

/* What is signed of a request; all of it is borrowed. */
struct signed_request {
    const char *method, *url;
    struct view body; /* empty: none */
    const struct header_lines
        *identity;   /* headers that name the job, or NULL */
    int64_t created; /* seconds since 1970 */
};

/* Adds Content-Digest, Signature-Input and Signature; nothing when requests are
 * not signed. */
void signing_write(const struct signing_key *signing,
                   const struct signed_request *request,
                   struct header_lines *lines);

#endif
