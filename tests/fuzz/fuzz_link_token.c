/* fuzz_link_token.c - any text as the token of a link, and any name: what is
 * read is what was written, byte for byte. The first byte says how: a text to
 * be read, or a name to be written; an odd one changes a byte of the token. */
#include <string.h>

#include "producer/gateway/link_token.h"
#include "tests/fuzz/fuzz.h"

enum { NOW = 1800000000 };

static const unsigned char secret[LINK_SECRET_BYTES] = "fuzz";

static void check_target(const struct file_link *target, struct view token)
{
    char again[LINK_TOKEN_BYTES];

    MUST(target->kind == LINK_FILE || target->kind == LINK_IMAGE);
    MUST(target->expires_at > NOW);
    MUST(link_token_write(again, target, secret));
    MUST(view_is(token, again));
}

static void check_name(struct view name, uint8_t way)
{
    struct file_link given = {
        way & 2 ? LINK_FILE : LINK_IMAGE,
        NOW + 1,
        "019aa5c8-1b2c-7001-8000-0123456789ab",
        "",
    };
    struct file_link got;
    char token[LINK_TOKEN_BYTES];

    if (name.len == 0 || name.len > MAX_FILE_NAME_BYTES ||
        memchr(name.data, '\0', name.len))
        return;
    memcpy(given.name, name.data, name.len);
    MUST(link_token_write(token, &given, secret));
    MUST(link_token_read(&got, view_of(token), secret, NOW));
    MUST(strcmp(got.name, given.name) == 0 && strcmp(got.job, given.job) == 0);
    check_target(&got, view_of(token));
    if (way & 1) {
        size_t at = (size_t)way * 7 % strlen(token);

        token[at] = token[at] == 'A' ? 'B' : 'A';
        MUST(!link_token_read(&got, view_of(token), secret, NOW));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file_link target;
    struct view rest;

    if (size == 0)
        return 0;
    rest = (struct view){ (const char *)data + 1, size - 1 };
    if (data[0] & 128)
        check_name(rest, data[0]);
    else if (link_token_read(&target, rest, secret, NOW))
        check_target(&target, rest);
    return 0;
}
