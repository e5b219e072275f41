/* identity.h - a tool is told for whom it is called.
 *
 * A header that the operator has set up may name the job of the call:
 *
 *   "headers": {"X-Tenant": "{{job.tenant}}", "X-User":
 * "{{job.metadata.user}}"}
 *
 * There are {{job.id}}, {{job.tenant}}, {{job.session}} and
 * {{job.metadata.NAME}}. Values come from producers: every byte but letters,
 * digits and -._~@:/+ becomes %XX, so none ends a header, or a value in quotes.
 * A header whose job has no such value (no session, no such metadata) is not
 * sent.
 *
 *   "sign": {"secret": "${ORDERS_SECRET}", "key_id": "quern-2026"}
 *
 * signs each request as RFC 9421 (HTTP Message Signatures) says, by
 * hmac-sha256: method, path, query, the digest of the body (RFC 9530), the
 * headers that name the job, and the time. ../TOOLS.md has what a server
 * checks. */
#ifndef CONSUMER_IDENTITY_H
#define CONSUMER_IDENTITY_H

#include "consumer/tools/headers.h"
#include "consumer/tools/mcp_header.h"
#include "schemas/message/field.h"

/* For whom a tool is called. Borrows the job's. */
struct caller {
    struct view job, tenant, session; /* empty: there is none */
    struct list metadata;             /* of struct pair */
};

/* secret NULL: requests are not signed. */
struct signing_key {
    char *secret, *key_id;
};

/* value: {secret, key_id}. Error: bad_setting; the secret is never told, and
 * headers know it: the server, which has it too, could repeat it. What was read
 * so far is signing_finish()'s. */
bool signing_read(struct signing_key *signing, struct headers *headers,
                  const json_t *value, struct err *err);
void signing_finish(struct signing_key *signing); /* accepts a zeroed one */

/* Whether each {{ in the text begins a name that there is. Error: bad_setting,
 * what is wrong. */
bool identity_check(const char *text, struct err *err);

/* Adds the headers that name the job. Error: too_large, one would be. */
bool identity_write(const struct headers *headers, const struct caller *caller,
                    struct mcp_lines *lines, struct err *err);

struct signed_request {
    const char *method, *url;
    struct view body;                 /* empty: none */
    const struct mcp_lines *identity; /* NULL: none */
    int64_t created;                  /* seconds since 1970 */
};
/* Adds Content-Digest, Signature-Input and Signature, if requests are signed.
 */
void signing_write(const struct signing_key *signing,
                   const struct signed_request *request,
                   struct mcp_lines *lines);

#endif
