/* place_answer.c - reads an answer of HTTP/1 of which some bytes have come. */
#include "producer/cli/place_answer.h"

#include <stdint.h>
#include <string.h>

static bool read_number(struct view text, uint64_t max, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text.data[i] - '0');
        if (*number > max)
            return false;
    }
    return text.len > 0;
}

/* "HTTP/1.1 200 OK" */
static bool place_read_status(struct view line, unsigned int *status)
{
    uint64_t number;

    if (line.len < 12 || !view_starts(line, "HTTP/1.") || line.data[8] != ' ' ||
        (line.len > 12 && line.data[12] != ' ') ||
        !read_number((struct view){ line.data + 9, 3 }, 599, &number) ||
        number < 100)
        return false;
    *status = (unsigned int)number;
    return true;
}

/* What the headers say of the body. */
struct body_frame {
    bool has_length;
    uint64_t length;
};

static bool place_read_header(struct view line, struct body_frame *frame,
                              struct err *err)
{
    const char *colon = line.len > 0 ? memchr(line.data, ':', line.len) : NULL;
    struct view name = { line.data, colon ? (size_t)(colon - line.data) : 0 };
    struct view value = { NULL, 0 };

    if (colon)
        value =
            view_trimmed((struct view){ colon + 1, line.len - name.len - 1 });
    if (view_is_caseless(name, "transfer-encoding"))
        return err_set(err, ERR_RETRY, "no_answer",
                       "it answers in chunks, which nobody reads here");
    if (!view_is_caseless(name, "content-length"))
        return true;
    if (frame->has_length ||
        !read_number(value, PLACE_MOST_BYTES, &frame->length))
        return err_set(err, ERR_RETRY, "no_answer",
                       "its Content-Length is \"%.*s\", must be one number up "
                       "to %d",
                       VIEW_ARG(view_head(value, 40)), PLACE_MOST_BYTES);
    frame->has_length = true;
    return true;
}

/* head: with the line break that ends its last line. */
static bool place_read_head(struct view head, struct place_answer *answer,
                            struct body_frame *frame, struct err *err)
{
    bool is_first = true;

    while (head.len > 0) {
        const char *end = memmem(head.data, head.len, "\r\n", 2);
        struct view line = { head.data, (size_t)(end - head.data) };

        if (is_first && !place_read_status(line, &answer->status))
            return err_set(err, ERR_RETRY, "no_answer",
                           "it does not speak HTTP/1");
        if (!is_first && !place_read_header(line, frame, err))
            return false;
        is_first = false;
        head.data += line.len + 2;
        head.len -= line.len + 2;
    }
    return true;
}

enum place_reading place_read(struct view bytes, bool is_end,
                              struct place_answer *answer, struct err *err)
{
    const char *blank =
        bytes.len > 0 ? memmem(bytes.data, bytes.len, "\r\n\r\n", 4) : NULL;
    struct body_frame frame = { .has_length = false };

    *answer = (struct place_answer){ .status = 0 };
    if (!blank && !is_end)
        return PLACE_MORE;
    if (!blank) {
        err_set(err, ERR_RETRY, "no_answer",
                "it has closed the connection after %zu bytes, without an "
                "answer",
                bytes.len);
        return PLACE_WRONG;
    }
    struct view head = { bytes.data, (size_t)(blank - bytes.data) + 2 };
    struct view body = { blank + 4, bytes.len - head.len - 2 };

    if (!place_read_head(head, answer, &frame, err))
        return PLACE_WRONG;
    if (frame.has_length ? body.len < frame.length : !is_end) {
        if (!is_end)
            return PLACE_MORE;
        err_set(err, ERR_RETRY, "no_answer",
                "its answer ends after %zu bytes of %llu", body.len,
                (unsigned long long)frame.length);
        return PLACE_WRONG;
    }
    if (frame.has_length)
        body.len = (size_t)frame.length;
    answer->body = body;
    return PLACE_WHOLE;
}
