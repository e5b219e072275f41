/* link_token.c - the token of a link: who has it may read one file of one job,
 * without a key, until it expires. */
#include "producer/gateway/link_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKEN_VERSION = 1,
    JOB_AT = 10, /* behind version, kind and expiry */
    JOB_BYTES = 16,
    NAME_AT = JOB_AT + JOB_BYTES,
    SEAL_BYTES = 16,
    PLAIN_BYTES = NAME_AT + MAX_FILE_NAME_BYTES + SEAL_BYTES, /* at most */
};
_Static_assert(LINK_TOKEN_BYTES > (PLAIN_BYTES + 2) / 3 * 4,
               "the longest token fits");

/* ---------------------------------------------------------------- base64url */

/* RFC 4648, section 5, without padding. */
static void text_of_bytes(char text[LINK_TOKEN_BYTES],
                          const unsigned char *bytes, size_t len)
{
    EVP_EncodeBlock((unsigned char *)text, bytes, (int)len);
    for (char *c = text; *c; c++)
        if (*c == '+')
            *c = '-';
        else if (*c == '/')
            *c = '_';
    text[strcspn(text, "=")] = '\0';
}

/* The number of bytes; 0: it is not what text_of_bytes() would have made. */
static size_t bytes_of_text(unsigned char bytes[LINK_TOKEN_BYTES],
                            struct view text)
{
    char padded[LINK_TOKEN_BYTES + 4], again[LINK_TOKEN_BYTES];
    size_t padding = (4 - text.len % 4) % 4;
    int len;

    if (text.len == 0 || text.len + padding >= LINK_TOKEN_BYTES)
        return 0;
    memset(padded, '=', sizeof(padded));
    for (size_t i = 0; i < text.len; i++)
        padded[i] = text.data[i];
    for (size_t i = 0; i < text.len; i++)
        if (padded[i] == '-')
            padded[i] = '+';
        else if (padded[i] == '_')
            padded[i] = '/';
    len = EVP_DecodeBlock(bytes, (const unsigned char *)padded,
                          (int)(text.len + padding));
    if (len <= (int)padding)
        return 0;
    text_of_bytes(again, bytes, (size_t)len - padding);
    return view_is(text, again) ? (size_t)len - padding : 0;
}

/* --------------------------------------------------------------------- seal */

/* The label keeps a seal from being good for another purpose of the secret. */
static void seal_bytes(unsigned char seal[SEAL_BYTES],
                       const unsigned char *bytes, size_t len,
                       const unsigned char *secret)
{
    static const char label[] = "quern link to a file of a job";
    unsigned char text[sizeof(label) + PLAIN_BYTES], whole[EVP_MAX_MD_SIZE];
    unsigned int size = sizeof(whole);

    memcpy(text, label, sizeof(label)); /* with its NUL */
    memcpy(text + sizeof(label), bytes, len);
    if (!HMAC(EVP_sha256(), secret, LINK_SECRET_BYTES, text,
              sizeof(label) + len, whole, &size))
        abort();
    memcpy(seal, whole, SEAL_BYTES);
}

/* ---------------------------------------------------------------------- job */

static void job_write(unsigned char bytes[JOB_BYTES], const char *id)
{
    for (size_t i = 0; i < JOB_BYTES; i++) {
        id += *id == '-';
        bytes[i] = (unsigned char)(byte_hex(id[0]) * 16 + byte_hex(id[1]));
        id += 2;
    }
}

/* 8-4-4-4-12 */
static void job_read(char id[ID_LEN + 1], const unsigned char bytes[JOB_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < JOB_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *id++ = '-';
        *id++ = digits[bytes[i] >> 4U];
        *id++ = digits[bytes[i] & 15U];
    }
    *id = '\0';
}

/* -------------------------------------------------------------------- token */

bool link_token_write(char token[LINK_TOKEN_BYTES],
                      const struct file_link *target,
                      const unsigned char secret[LINK_SECRET_BYTES])
{
    unsigned char plain[PLAIN_BYTES] = { TOKEN_VERSION };
    size_t name = strnlen(target->name, sizeof(target->name));

    if (name == 0 || name > MAX_FILE_NAME_BYTES ||
        !id_parse(view_of(target->job), NULL))
        return false;
    plain[1] = (unsigned char)target->kind;
    for (unsigned int i = 0; i < 8; i++)
        plain[2 + i] = (unsigned char)(target->expires_at >> (56 - 8 * i));
    job_write(plain + JOB_AT, target->job);
    memcpy(plain + NAME_AT, target->name, name);
    seal_bytes(plain + NAME_AT + name, plain, NAME_AT + name, secret);
    text_of_bytes(token, plain, NAME_AT + name + SEAL_BYTES);
    return true;
}

bool link_token_read(struct file_link *target, struct view token,
                     const unsigned char secret[LINK_SECRET_BYTES],
                     uint64_t now)
{
    unsigned char plain[LINK_TOKEN_BYTES], seal[SEAL_BYTES];
    size_t len = bytes_of_text(plain, token), name;

    if (len <= NAME_AT + SEAL_BYTES || len > PLAIN_BYTES)
        return false;
    seal_bytes(seal, plain, len - SEAL_BYTES, secret);
    if (CRYPTO_memcmp(seal, plain + len - SEAL_BYTES, SEAL_BYTES) != 0)
        return false;
    name = len - NAME_AT - SEAL_BYTES;
    *target = (struct file_link){ .kind = plain[1] == LINK_IMAGE ? LINK_IMAGE
                                                                 : LINK_FILE };
    for (unsigned int i = 0; i < 8; i++)
        target->expires_at = target->expires_at << 8U | plain[2 + i];
    job_read(target->job, plain + JOB_AT);
    memcpy(target->name, plain + NAME_AT, name);
    return plain[0] == TOKEN_VERSION && plain[1] == (int)target->kind &&
           target->expires_at > now && strlen(target->name) == name &&
           id_parse(view_of(target->job), NULL);
}
