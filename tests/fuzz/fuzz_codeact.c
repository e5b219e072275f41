/* fuzz_codeact.c - any message of a model: what is made of it fits together.
 * The first byte says whether the model stopped by itself. */
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
    codeact_finish(&said);
    rules.parses = is_even;
    check_read(text, &rules, &said);
    codeact_finish(&said);
    return 0;
}
