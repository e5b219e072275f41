/* fold.c - the text that a terminal would show in the end. */
#include "consumer/fold.h"

enum {
    LINE_BYTES = 4096,   /* of a longer line the start cannot be drawn over */
    STRING_BYTES = 1024, /* a longer title or link is taken for text */
    ESC = 0x1b,
    BEL = 0x07,
    DEL = 0x7f,
};

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

/* ------------------------------------------------------------------- rows */

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

/* ------------------------------------------------------------------ bytes */

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
