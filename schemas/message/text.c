/* text.c - makes readable text of any bytes. */
#include "schemas/message/text.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/message/limits.h"

enum {
    LINE_BYTES = 4096,   /* of a longer line the start cannot be drawn over */
    STRING_BYTES = 1024, /* a longer title or link is taken for text */
    ESC = 0x1b,
    BEL = 0x07,
    DEL = 0x7f,
};

/* --------------------------------------------------------- clean text */

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

/* ------------------------------------------------------- head and tail */

static void excerpt_init(struct excerpt *excerpt, size_t max)
{
    *excerpt = (struct excerpt){ .max = max };
    buf_init(&excerpt->head, max - max / 2);
}

static void excerpt_finish(struct excerpt *excerpt)
{
    buf_finish(&excerpt->head);
    free(excerpt->tail);
    excerpt->tail = NULL;
}

static void excerpt_add(struct excerpt *excerpt, struct view bytes)
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
    if (bytes.len == 0 || ring == 0)
        return;
    if (!excerpt->tail && !(excerpt->tail = malloc(ring)))
        abort();
    size_t skip = bytes.len > ring ? bytes.len - ring : 0;
    for (size_t i = skip; i < bytes.len; i++)
        excerpt->tail[(behind + i) % ring] = bytes.data[i];
}

/* So many bytes did not come: only what follows can be the tail. */
static void excerpt_skip(struct excerpt *excerpt, size_t bytes)
{
    excerpt->total += bytes;
    excerpt->lost = excerpt->total - excerpt->head.len;
}

/* Appends head and tail, clean, with the gap stated between them. */
static void excerpt_print(const struct excerpt *excerpt, struct buf *out)
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

/* ------------------------------------------- as a terminal shows it: rows */

void fold_init(struct fold *fold, size_t max)
{
    *fold = (struct fold){ .count = 1 };
    excerpt_init(&fold->kept, max);
    for (size_t i = 0; i < FOLD_ROWS; i++)
        buf_init(&fold->rows[i].text, LINE_BYTES);
}

void fold_finish(struct fold *fold)
{
    excerpt_finish(&fold->kept);
    for (size_t i = 0; i < FOLD_ROWS; i++)
        buf_finish(&fold->rows[i].text);
}

static struct fold_row *row_at(struct fold *fold, size_t at)
{
    return &fold->rows[(fold->first + at) % FOLD_ROWS];
}

static struct fold_row *current(struct fold *fold)
{
    return row_at(fold, fold->at);
}

static void keep_text(struct fold *fold, struct fold_row *row)
{
    excerpt_add(&fold->kept, buf_view(&row->text));
    buf_clear(&row->text);
}

static void keep_first(struct fold *fold)
{
    struct fold_row *row = row_at(fold, 0);
    keep_text(fold, row);
    excerpt_add(&fold->kept, row->windows ? VIEW("\r\n") : VIEW("\n"));
    row->windows = row->begun = false;
    fold->first = (fold->first + 1) % FOLD_ROWS;
    fold->count--;
    fold->at--;
}

/* What is there now can no more be drawn over. */
static void keep_all(struct fold *fold)
{
    fold->at = fold->count - 1;
    while (fold->count > 1)
        keep_first(fold);
    keep_text(fold, current(fold));
    current(fold)->begun = false;
}

static void fold_add_text(struct fold *fold, struct view text)
{
    struct fold_row *row = current(fold);
    if (row->text.len + text.len > LINE_BYTES) {
        while (fold->at > 0)
            keep_first(fold);
        keep_text(fold, row);
        row->begun = true;
    }
    if (text.len > LINE_BYTES)
        excerpt_add(&fold->kept, text);
    else
        buf_add(&row->text, text);
}

/* What follows is drawn over the line, as far as that can still be done. */
static void erase(struct fold *fold)
{
    struct fold_row *row = current(fold);
    fold->returned = fold->over = false;
    if (row->text.len == 0 && !row->begun)
        return;
    fold->changed = true;
    if (row->begun) {
        keep_text(fold, row);
        excerpt_add(&fold->kept, VIEW("\n"));
        row->begun = false;
    }
    buf_clear(&row->text);
}

static void make_room(struct fold *fold)
{
    if (fold->returned || fold->over)
        erase(fold);
}

/* To the next line, which is there already when the cursor had gone up. */
static void fold_go_down(struct fold *fold)
{
    current(fold)->windows |= fold->returned;
    fold->returned = false;
    fold->over = fold->at + 1 < fold->count;
    if (!fold->over) {
        if (fold->count == FOLD_ROWS)
            keep_first(fold);
        fold->count++;
    }
    fold->at++;
}

static void go_up(struct fold *fold, size_t rows)
{
    fold->at -= rows < fold->at ? rows : fold->at;
    fold->returned = false;
    fold->over = true;
}

static void take_back(struct fold *fold)
{
    struct buf *text = &current(fold)->text;
    size_t len = text->len;
    while (len > 0 && ((unsigned char)text->data[--len] & 0xc0) == 0x80)
        ;
    buf_truncate(text, len);
    fold->changed = true;
}

/* ------------------------------------------------ as a terminal shows it:
 * bytes */

/* U+2400 and on: the pictures of the control characters. */
static void add_symbol(struct fold *fold, unsigned char byte)
{
    char symbol[] = { '\xe2', '\x90',
                      (char)(byte == DEL ? 0xa1 : 0x80 + byte) };
    fold_add_text(fold, (struct view){ symbol, sizeof(symbol) });
    fold->changed = true;
}

static void take_control(struct fold *fold, unsigned char byte)
{
    if (byte == '\n') {
        fold_go_down(fold);
        return;
    }
    if (byte == '\r') {
        fold->changed = fold->changed || fold->returned;
        fold->returned = true;
        return;
    }
    if (byte == ESC) {
        fold->state = FOLD_ESCAPE;
        fold->changed = true;
        return;
    }
    make_room(fold);
    if (byte == '\b')
        take_back(fold);
    else if (byte == '\t')
        fold_add_text(fold, VIEW("\t"));
    else
        add_symbol(fold, byte);
}

/* ESC [ argument letter: the commands that progress bars use have their effect;
 * all others have none. */
static void take_command(struct fold *fold, unsigned char letter)
{
    enum { WHOLE_LINE = 2 };
    if (letter == 'A')
        go_up(fold, fold->argument ? fold->argument : 1);
    else if (letter == 'K' && fold->argument == WHOLE_LINE)
        erase(fold);
    else if (letter == 'K' && fold->argument == 0)
        make_room(fold);
}

static void take_argument(struct fold *fold, unsigned char byte)
{
    if (byte >= '0' && byte <= '9' && fold->argument < FOLD_ROWS)
        fold->argument = 10 * fold->argument + byte - '0';
}

/* Inside an escape sequence: nothing of it is shown. */
static void take_escape(struct fold *fold, unsigned char byte)
{
    switch (fold->state) {
    case FOLD_ESCAPE:
        fold->string = fold->argument = 0;
        if (byte == '[')
            fold->state = FOLD_CONTROL;
        else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' ||
                 byte == '_')
            fold->state = FOLD_STRING;
        else if (byte < 0x20 || byte > 0x2f)
            fold->state = FOLD_TEXT;
        break;
    case FOLD_CONTROL:
        take_argument(fold, byte);
        if (byte < 0x20 || byte > 0x3f) {
            fold->state = FOLD_TEXT;
            take_command(fold, byte);
        }
        break;
    case FOLD_STRING:
        if (byte == ESC)
            fold->state = FOLD_STRING_END;
        else if (byte == BEL || byte == '\n' || ++fold->string > STRING_BYTES)
            fold->state = FOLD_TEXT;
        break;
    case FOLD_STRING_END:
    case FOLD_TEXT:
        fold->state = byte == '\\' ? FOLD_TEXT : FOLD_STRING;
    }
    if (byte == '\n' && fold->state == FOLD_TEXT)
        take_control(fold, byte);
}

static bool fold_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte != DEL;
}

void fold_add(struct fold *fold, struct view bytes)
{
    for (size_t at = 0; at < bytes.len;) {
        size_t end = at;
        while (fold->state == FOLD_TEXT && end < bytes.len &&
               fold_is_plain((unsigned char)bytes.data[end]))
            end++;
        if (end > at) {
            make_room(fold);
            fold_add_text(fold, (struct view){ bytes.data + at, end - at });
            at = end;
            continue;
        }
        unsigned char byte = (unsigned char)bytes.data[at++];
        if (fold->state == FOLD_TEXT)
            take_control(fold, byte);
        else
            take_escape(fold, byte);
    }
}

void fold_skip(struct fold *fold, size_t bytes)
{
    keep_all(fold);
    excerpt_skip(&fold->kept, bytes);
    fold->state = FOLD_TEXT;
    fold->returned = fold->over = false;
    fold->changed = true;
}

bool fold_print(struct fold *fold, struct buf *out, size_t max)
{
    CLEANUP(buf_finish) struct buf all;
    if (fold->returned && !fold->changed)
        fold_add_text(fold, VIEW("\r"));
    keep_all(fold);
    buf_init(&all, fold->kept.max * 4);
    excerpt_print(&fold->kept, &all);
    bool same = !fold->changed && fold->kept.total <= fold->kept.max &&
                all.len == fold->kept.total && all.len <= max;
    text_add_clipped(out, buf_view(&all), max);
    return same;
}
