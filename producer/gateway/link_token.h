/* link_token.h - the token of a link: who has it may read one file of one job,
 * without a key, until it expires.
 *
 *   base64url of: version, kind, expiry (8 bytes), job (16 bytes), name, seal
 *
 * The seal is HMAC-SHA256 over all before it, cut to 16 bytes, by the secret
 * that all gateways share (link_secret.h). The same file, job and expiry give
 * the same token at every gateway; nobody else can make one. */
#ifndef PRODUCER_GATEWAY_LINK_TOKEN_H
#define PRODUCER_GATEWAY_LINK_TOKEN_H

#include <stdint.h>

#include "schemas/message/id.h"
#include "schemas/message/limits.h"

enum link_kind {
    LINK_FILE = 'f',  /* of the result's files */
    LINK_IMAGE = 'i', /* of its images, or a part of a display */
};

enum {
    LINK_SECRET_BYTES = 32,
    LINK_TOKEN_BYTES = 400, /* with the NUL, of the longest name */
};

struct file_link {
    enum link_kind kind;
    uint64_t expires_at; /* s since 1970: from then on it opens nothing */
    char job[ID_LEN + 1];
    char name[MAX_FILE_NAME_BYTES + 1];
};

/* False: the name is empty or too long, or the job is no id. */
bool link_token_write(char token[LINK_TOKEN_BYTES],
                      const struct file_link *target,
                      const unsigned char secret[LINK_SECRET_BYTES]);

/* False: it was not made with that secret, or it has expired. now: s since
 * 1970. */
bool link_token_read(struct file_link *target, struct view token,
                     const unsigned char secret[LINK_SECRET_BYTES],
                     uint64_t now);

#endif
