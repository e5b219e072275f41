/* fuzz_codeact.c - any message of a model: what is made of it fits together,
 * and while it grows it gives the blocks that it has in the end. The first byte
 * is the seed of the pieces, and whether the model stopped by itself. */
#include <string.h>
#include <strings.h>

#include "consumer/conversation/codeact.h"
#include "tests/fuzz/fuzz.h"

static bool is_even(void *owner, struct view code)
{
    (void)owner;
    return code.len % 2 == 0;
}

static void check_read(struct view text, const struct codeact_rules *rules,
                       struct codeact *said)
{
    codeact_read(said, text, rules);
    MUST(buf_ok(&said->code) && buf_ok(&said->answer));
    MUST((said->blocks > 0) == (said->code.len > 0));
    MUST(said->final == (said->answer.len > 0));
    MUST(!said->final || (said->blocks == 0 && !said->unclosed));
    MUST(view_equal(buf_view(&said->answer),
                    view_trimmed(buf_view(&said->answer))));
    MUST(said->invented == (said->cut < text.len));
    MUST(!said->invented || said->blocks > 0);
}

static void add(struct buf *blocks, const struct buf *code)
{
    if (blocks->len > 0)
        buf_append(blocks, "\n\n", 2);
    buf_add(blocks, buf_view(code));
}

/* All blocks of the text, which comes in pieces; seed 0: at once. */
static void grow(struct view text, unsigned seed, struct buf *blocks)
{
    CLEANUP(buf_finish) struct buf code = { .max = text.len + 2 };
    struct codeact_cursor cursor = { 0 };
    size_t len = seed == 0 ? text.len : 0;

    for (bool last = false; !last;) {
        last = len == text.len;
        while (codeact_next(&cursor, (struct view){ text.data, len }, &code))
            add(blocks, &code);
        len += 1 + (size_t)rand_r(&seed) % 40;
        len = len > text.len ? text.len : len;
    }
    MUST(cursor.at <= text.len);
    MUST(buf_ok(blocks));
}

/* Whether one of the words stands in the text, in any case. */
static bool has_any(struct view text, const char *const *words)
{
    for (size_t i = 0; i < text.len; i++)
        for (size_t w = 0; words[w] != NULL; w++)
            if (strlen(words[w]) <= text.len - i &&
                strncasecmp(text.data + i, words[w], strlen(words[w])) == 0)
                return true;
    return false;
}

/* A closing tag may make reasoning of what was given before. */
static const char *const closings[] = { "</t", "</r", NULL };
/* A tag of code may make illustrations of fences that were given before. */
static const char *const openings[] = { "<execute>", "<code>", "<python>",
                                        NULL };

static void check_growing(struct view text, unsigned seed,
                          const struct codeact *said)
{
    CLEANUP(buf_finish) struct buf whole = { .max = text.len + 2 };
    CLEANUP(buf_finish) struct buf pieces = { .max = text.len + 2 };

    grow(text, 0, &whole);
    grow(text, seed, &pieces);
    if (has_any(text, closings))
        return;
    MUST(view_equal(buf_view(&whole), buf_view(&pieces)));
    if (has_any(text, openings))
        return;
    MUST(whole.len <= said->code.len);
    MUST(whole.len == 0 || memcmp(whole.data, said->code.data, whole.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct codeact said;
    struct codeact_rules rules = { 0 };
    struct view text;

    if (size == 0)
        return 0;
    text = (struct view){ (const char *)data + 1, size - 1 };
    rules.stopped = (data[0] & 1) != 0;
    check_read(text, &rules, &said);
    check_growing(text, data[0] + 1u, &said);
    codeact_finish(&said);
    rules.parses = is_even;
    check_read(text, &rules, &said);
    codeact_finish(&said);
    return 0;
}
