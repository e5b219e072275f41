/* base64.c - libcrypto's base64, made strict. */
#include "schemas/json/base64.h"

#include <limits.h>
#include <openssl/evp.h>

void base64_encode(struct view bytes, struct buf *out)
{
    char *to;

    if (bytes.len == 0)
        return;
    if (bytes.len > INT_MAX / 2) {
        out->overflow = true;
        return;
    }
    /* EVP_EncodeBlock() writes a NUL behind the text. */
    to = buf_reserve(out, (bytes.len + 2) / 3 * 4 + 1);
    if (!to)
        return;
    out->len += (size_t)EVP_EncodeBlock(
        (unsigned char *)to, (const unsigned char *)bytes.data, (int)bytes.len);
}

/* libcrypto skips blanks, accepts padding anywhere and counts it as bytes. So
 * the bytes are encoded again, and only the same text is accepted. */
bool base64_decode(struct view text, struct buf *out)
{
    CLEANUP(buf_finish) struct buf again = { .max = text.len + 1 };
    size_t start = out->len;
    char *to;
    int len;

    if (text.len == 0)
        return true;
    if (text.len % 4 != 0 || text.len > INT_MAX / 2)
        return false;
    to = buf_reserve(out, text.len / 4 * 3);
    if (!to)
        return false;
    len = EVP_DecodeBlock((unsigned char *)to, (const unsigned char *)text.data,
                          (int)text.len);
    if (len < 2)
        return false;
    for (size_t i = text.len; i > text.len - 2 && text.data[i - 1] == '='; i--)
        len--;
    base64_encode((struct view){ to, (size_t)len }, &again);
    if (!buf_ok(&again) || !view_equal(buf_view(&again), text))
        return false;
    out->len = start + (size_t)len;
    return true;
}
