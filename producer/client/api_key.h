/* api_key.h - the form of a key of quern-gateway: "qk_", 30 characters of
 * chance, and 6 of the CRC-32 of what stands before them, all in base 62. So a
 * key is found in logs and sources by its form, and one that was copied wrong
 * is refused without asking Redis. Redis has the SHA-256 of the key alone. */
#ifndef PRODUCER_CLIENT_API_KEY_H
#define PRODUCER_CLIENT_API_KEY_H

#include <stdbool.h>

#include "schemas/message/view.h"
#include "schemas/redis/names.h"

enum { API_KEY_BYTES = 40 }; /* with a NUL */

void api_key_make(char key[API_KEY_BYTES]);
bool api_key_is_sound(struct view key);

/* On it the SHA-256 of each key that was removed or replaced is published; in a
 * Cluster by SPUBLISH. */
struct key api_key_channel(const struct names *names);

#endif
