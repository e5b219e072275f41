/* request_key.c - the key that a request brings. */
#include "producer/gateway/request_key.h"

#include <openssl/evp.h>
#include <string.h>

/* What is behind the scheme, which has no case. False: it is another one. */
static bool behind_scheme(struct view value, const char *scheme,
                          struct view *rest)
{
    size_t len = strlen(scheme);

    if (!view_starts_caseless(value, scheme))
        return false;
    *rest = view_trimmed((struct view){ value.data + len, value.len - len });
    return true;
}

/* The bytes of a base64; 0: it is none, or too long. */
static size_t decode_basic(struct request_key *key, struct view text)
{
    int len = -1;

    if (text.len > 0 && text.len % 4 == 0 &&
        text.len / 4 * 3 <= sizeof(key->room))
        len = EVP_DecodeBlock((unsigned char *)key->room,
                              (const unsigned char *)text.data, (int)text.len);
    /* EVP_DecodeBlock() counts what stands for = as zero bytes. */
    for (size_t i = text.len; len > 0 && text.data[i - 1] == '='; i--)
        len--;
    return len > 0 ? (size_t)len : 0;
}

/* False: it is in no form that has a key. */
static bool request_key_of_header(struct request_key *key, struct view value)
{
    struct view basic;
    const char *colon;
    size_t len, skip;

    if (behind_scheme(value, "bearer ", &key->text))
        return true;
    if (!behind_scheme(value, "basic ", &basic))
        return false;
    len = decode_basic(key, basic);
    colon = memchr(key->room, ':', len);
    if (!colon)
        return false;
    skip = (size_t)(colon + 1 - key->room);
    key->text = (struct view){ colon + 1, len - skip };
    return true;
}

bool request_key_read(struct request_key *key, struct view authorization,
                      struct view plain, struct err *err)
{
    key->text = plain;
    if (authorization.len == 0)
        return true;
    if (plain.len > 0)
        return err_set(err, ERR_REJECT, "invalid_api_key",
                       "the request has both Authorization and X-Api-Key");
    return request_key_of_header(key, authorization) ||
           err_set(err, ERR_REJECT, "invalid_api_key",
                   "Authorization should be \"Bearer KEY\"");
}
