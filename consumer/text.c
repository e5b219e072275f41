/* text.c - makes readable text of any bytes. */
#include "consumer/text.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/message/limits.h"

/* How many bytes the character has that starts with this one; 0: none does. */
static size_t character_bytes(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

void text_add_clean(struct buf *out, struct view bytes)
{
    size_t start = 0;
    if (bytes.len == 0)
        return; /* its data may be NULL */
    for (size_t at = 0; at < bytes.len;) {
        size_t len = character_bytes((unsigned char)bytes.data[at]);
        struct view one = { bytes.data + at, len };
        if (len == 1 ||
            (len != 0 && len <= bytes.len - at && view_is_utf8(one))) {
            at += len;
            continue;
        }
        buf_append(out, bytes.data + start, at - start);
        buf_add(out, VIEW("\xef\xbf\xbd"));
        start = ++at;
    }
    buf_append(out, bytes.data + start, bytes.len - start);
}

void text_add_line(struct buf *out, struct view text, size_t max)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, 3 * max); /* U+FFFD for every byte */
    text_add_clean(&line, view_head(text, max));
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.data[i] < ' ' || line.data[i] == 0x7f)
            line.data[i] = ' ';
    buf_add(out, view_head(buf_view(&line), max));
}

size_t text_unfinished(struct view bytes)
{
    size_t most = bytes.len < 3 ? bytes.len : 3;
    for (size_t back = 1; back <= most; back++) {
        unsigned char byte = (unsigned char)bytes.data[bytes.len - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        return character_bytes(byte) > back ? back : 0;
    }
    return 0;
}

/* A view's end of at most max bytes that starts with a whole character. */
static struct view view_tail(struct view view, size_t max)
{
    size_t skip = view.len > max ? view.len - max : 0;
    while (skip < view.len && skip > 0 &&
           ((unsigned char)view.data[skip] & 0xc0) == 0x80)
        skip++;
    return (struct view){ view.data + skip, view.len - skip };
}

enum { GAP_BYTES = 64 }; /* no sentence of add_gap() is longer */

static void add_gap(struct buf *out, size_t bytes)
{
    buf_printf(out, "\n[... %zu bytes left out ...]\n", bytes);
}

void text_add_clipped(struct buf *out, struct view text, size_t max)
{
    CLEANUP(buf_finish) struct buf clean;
    buf_init(&clean, text.len * 3);
    text_add_clean(&clean, text);
    struct view whole = buf_view(&clean);
    if (whole.len <= max) {
        buf_add(out, whole);
        return;
    }
    size_t half = max > GAP_BYTES ? (max - GAP_BYTES) / 2 : 0;
    struct view head = view_head(whole, half);
    struct view tail = view_tail(whole, half);
    buf_add(out, head);
    add_gap(out, whole.len - head.len - tail.len);
    buf_add(out, tail);
}

void excerpt_init(struct excerpt *excerpt, size_t max)
{
    *excerpt = (struct excerpt){ .max = max };
    buf_init(&excerpt->head, max - max / 2);
}

void excerpt_finish(struct excerpt *excerpt)
{
    if (!excerpt)
        return;
    buf_finish(&excerpt->head);
    free(excerpt->tail);
    excerpt->tail = NULL;
}

void excerpt_add(struct excerpt *excerpt, struct view bytes)
{
    size_t room = excerpt->lost ? 0 : excerpt->head.max - excerpt->head.len;
    size_t into_head = bytes.len < room ? bytes.len : room;
    buf_append(&excerpt->head, bytes.data, into_head);
    size_t ring = excerpt->max / 2;
    size_t behind =
        excerpt->total + into_head - excerpt->head.len - excerpt->lost;
    excerpt->total += bytes.len;
    bytes.data += into_head;
    bytes.len -= into_head;
    if (bytes.len == 0)
        return;
    if (!excerpt->tail && !(excerpt->tail = malloc(ring)))
        abort();
    size_t skip = bytes.len > ring ? bytes.len - ring : 0;
    for (size_t i = skip; i < bytes.len; i++)
        excerpt->tail[(behind + i) % ring] = bytes.data[i];
}

void excerpt_skip(struct excerpt *excerpt, size_t bytes)
{
    excerpt->total += bytes;
    excerpt->lost = excerpt->total - excerpt->head.len;
}

void excerpt_print(const struct excerpt *excerpt, struct buf *out)
{
    size_t ring = excerpt->max / 2;
    size_t behind = excerpt->total - excerpt->head.len - excerpt->lost;
    size_t kept = behind < ring ? behind : ring;
    size_t gap = excerpt->lost + behind - kept;
    CLEANUP(buf_finish) struct buf raw;
    buf_init(&raw, excerpt->max);
    buf_add(&raw, buf_view(&excerpt->head));
    if (gap > 0) {
        text_add_clean(out, buf_view(&raw));
        buf_clear(&raw);
        add_gap(out, gap);
    }
    for (size_t i = 0; i < kept; i++)
        buf_append(&raw, &excerpt->tail[(behind - kept + i) % ring], 1);
    text_add_clean(out, buf_view(&raw));
}
