/* request_key.h - the key that a request brings.
 *
 *   Authorization: Bearer KEY
 *   Authorization: Basic <base64 of NAME:KEY>   of clients that are given
 *                                               https://NAME:KEY@host alone
 *   X-Api-Key: KEY */
#ifndef PRODUCER_GATEWAY_REQUEST_KEY_H
#define PRODUCER_GATEWAY_REQUEST_KEY_H

#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct request_key {
    struct view text; /* any text; "": there is none */
    char room[192];   /* of Basic */
};

/* authorization and plain: the values of the two headers; "" for none. False:
 * they are wrong. The key is in one of them, or in its own room: do not copy
 * it. */
bool request_key_read(struct request_key *key, struct view authorization,
                      struct view plain, struct err *err);

#endif
