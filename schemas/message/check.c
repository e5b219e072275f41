/* check.c - bounds MessagePack bytes before msgpack-c sees them.
 *
 * Two facts make it safe. Every value takes at least one byte, so a count that
 * is larger than the bytes that follow cannot be true, and is refused before
 * anybody allocates for it. And all counts together stay within
 * CHECK_MAX_ITEMS, which bounds the memory of msgpack-c. */
#include "schemas/message/check.h"

#include <stdint.h>

enum value_form { NEVER, PLAIN, BIN, STR, ARRAY, MAP, EXT };

/* A value's head: the form, and how many bytes or values follow. */
struct head {
    enum value_form form;
    uint64_t count;
};

/* The first bytes 0xc0 to 0xdf: the form, and how many bytes follow (PLAIN) or
 * hold the count. All others have form and count in the byte itself. */
static const struct {
    unsigned char form, size;
} forms[32] = {
    { PLAIN, 0 }, { NEVER, 0 }, { PLAIN, 0 }, { PLAIN, 0 }, /* nil, bools */
    { BIN, 1 },   { BIN, 2 },   { BIN, 4 },                 /* */
    { EXT, 0 },   { EXT, 0 },   { EXT, 0 },                 /* */
    { PLAIN, 4 }, { PLAIN, 8 },                             /* reals */
    { PLAIN, 1 }, { PLAIN, 2 }, { PLAIN, 4 }, { PLAIN, 8 }, /* uint */
    { PLAIN, 1 }, { PLAIN, 2 }, { PLAIN, 4 }, { PLAIN, 8 }, /* int */
    { EXT, 0 },   { EXT, 0 },   { EXT, 0 },   { EXT, 0 },
    { EXT, 0 },   { STR, 1 },   { STR, 2 },   { STR, 4 }, /* */
    { ARRAY, 2 }, { ARRAY, 4 },                           /* */
    { MAP, 2 },   { MAP, 4 },                             /* */
};

struct checker {
    const unsigned char *bytes;
    size_t len;
    size_t at;    /* the next byte */
    size_t items; /* values seen or promised */
    struct err *err;
    /* Containers that are not complete: the values still to come in each. */
    size_t depth;
    struct {
        uint64_t left;
        bool map;
    } open[CHECK_MAX_DEPTH];
};

static bool checker_refuse(struct checker *checker, size_t at, const char *why)
{
    return err_set(checker->err, ERR_REJECT, "bad_message", "byte %zu: %s", at,
                   why);
}

/* Reads a big-endian count of size bytes; false when the bytes end first. */
static bool read_count(struct checker *checker, size_t size, uint64_t *count)
{
    if (checker->len - checker->at < size)
        return false;
    *count = 0;
    for (size_t i = 0; i < size; i++)
        *count = *count << 8 | checker->bytes[checker->at++];
    return true;
}

static bool checker_read_head(struct checker *checker, struct head *head)
{
    unsigned int byte = checker->bytes[checker->at++];

    if (byte < 0x80 || byte >= 0xe0)
        *head = (struct head){ PLAIN, 0 };
    else if (byte < 0x90)
        *head = (struct head){ MAP, byte & 0x0f };
    else if (byte < 0xa0)
        *head = (struct head){ ARRAY, byte & 0x0f };
    else if (byte < 0xc0)
        *head = (struct head){ STR, byte & 0x1f };
    else {
        head->form = (enum value_form)forms[byte - 0xc0].form;
        head->count = forms[byte - 0xc0].size;
        if (head->form != PLAIN)
            return read_count(checker, head->count, &head->count);
    }
    return true;
}

/* Opens a container of count values. */
static bool open_container(struct checker *checker, size_t at, uint64_t count,
                           bool map)
{
    /* This bound first: it also keeps items from overflowing. */
    if (count > checker->len - checker->at)
        return checker_refuse(checker, at,
                              "more values are promised than bytes follow");
    checker->items += count;
    if (checker->items > CHECK_MAX_ITEMS)
        return err_set(checker->err, ERR_REJECT, "bad_message",
                       "byte %zu: more than %d values", at, CHECK_MAX_ITEMS);
    if (checker->depth == CHECK_MAX_DEPTH)
        return err_set(checker->err, ERR_REJECT, "bad_message",
                       "byte %zu: nested deeper than %d", at, CHECK_MAX_DEPTH);
    checker->open[checker->depth].left = count;
    checker->open[checker->depth].map = map;
    checker->depth++;
    return true;
}

/* Takes one value's head, and its bytes when it is not a container. */
static bool take_value(struct checker *checker, bool key)
{
    size_t at = checker->at;
    struct head head;

    if (at == checker->len || !checker_read_head(checker, &head))
        return checker_refuse(checker, at, "the message ends too early");
    if (key && head.form != STR)
        return checker_refuse(checker, at, "a map's key is not a string");
    switch (head.form) {
    case NEVER:
        return checker_refuse(checker, at, "0xc1 is not MessagePack");
    case EXT:
        return checker_refuse(checker, at, "extension types are not taken");
    case ARRAY:
        return open_container(checker, at, head.count, false);
    case MAP:
        return open_container(checker, at, 2 * head.count, true);
    case PLAIN:
    case BIN:
    case STR:
        break;
    }
    if (head.count > checker->len - checker->at)
        return checker_refuse(checker, at, "the message ends too early");
    checker->at += head.count;
    return true;
}

bool check_value(struct view bytes, struct err *err)
{
    struct checker checker = {
        .bytes = (const unsigned char *)bytes.data,
        .len = bytes.len,
        .items = 1,
        .err = err,
    };

    if (!take_value(&checker, false))
        return false;
    while (checker.depth > 0) {
        size_t top = checker.depth - 1;
        uint64_t left = checker.open[top].left;

        if (left == 0) {
            checker.depth--;
            continue;
        }
        checker.open[top].left--;
        /* A map's values come in pairs: an even number left is a key's turn. */
        if (!take_value(&checker, checker.open[top].map && left % 2 == 0))
            return false;
    }
    if (checker.at != checker.len)
        return checker_refuse(&checker, checker.at, "bytes after the end");
    return true;
}
