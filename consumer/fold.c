/* fold.c - a stream as a terminal would leave it. */
#include "consumer/fold.h"

enum {
    LINE_BYTES = 4096,   /* a longer line is not held back any more */
    STRING_BYTES = 1024, /* the longest title or link that is believed */
    ESC = 0x1b,
    BEL = 0x07,
    DEL = 0x7f,
};

void fold_init(struct fold *fold, size_t max)
{
    *fold = (struct fold){ 0 };
    excerpt_init(&fold->kept, max);
    buf_init(&fold->line, LINE_BYTES + 4);
}

void fold_finish(struct fold *fold)
{
    excerpt_finish(&fold->kept);
    buf_finish(&fold->line);
}

static void keep_line(struct fold *fold)
{
    excerpt_add(&fold->kept, buf_view(&fold->line));
    buf_clear(&fold->line);
}

static void end_line(struct fold *fold)
{
    keep_line(fold);
    fold->long_line = false;
}

static void add(struct fold *fold, struct view text)
{
    if (fold->line.len + text.len > LINE_BYTES) {
        keep_line(fold);
        fold->long_line = true;
    }
    if (text.len > LINE_BYTES)
        excerpt_add(&fold->kept, text);
    else
        buf_add(&fold->line, text);
}

/* What follows is drawn over the line, as far as that can still be done. */
static void draw_over(struct fold *fold)
{
    fold->returned = false;
    if (fold->line.len == 0 && !fold->long_line)
        return;
    fold->changed = true;
    if (fold->long_line) {
        add(fold, VIEW("\n"));
        end_line(fold);
    }
    buf_clear(&fold->line);
}

static void take_back(struct fold *fold)
{
    size_t len = fold->line.len;
    while (len > 0 && ((unsigned char)fold->line.data[--len] & 0xc0) == 0x80)
        ;
    buf_truncate(&fold->line, len);
    fold->changed = true;
}

/* U+2400 and on: the pictures of the control characters. */
static void add_picture(struct fold *fold, unsigned char byte)
{
    char picture[] = { '\xe2', '\x90',
                       (char)(byte == DEL ? 0xa1 : 0x80 + byte) };
    add(fold, (struct view){ picture, sizeof(picture) });
    fold->changed = true;
}

static void take_control(struct fold *fold, unsigned char byte)
{
    if (byte == '\n') {
        add(fold, fold->returned ? VIEW("\r\n") : VIEW("\n"));
        fold->returned = false;
        end_line(fold);
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
    if (fold->returned)
        draw_over(fold);
    if (byte == '\b')
        take_back(fold);
    else if (byte == '\t')
        add(fold, VIEW("\t"));
    else
        add_picture(fold, byte);
}

/* Inside an escape sequence: nothing of it is shown. */
static void take_escape(struct fold *fold, unsigned char byte)
{
    switch (fold->state) {
    case FOLD_ESCAPE:
        fold->string = 0;
        if (byte == '[')
            fold->state = FOLD_CONTROL;
        else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' ||
                 byte == '_')
            fold->state = FOLD_STRING;
        else if (byte < 0x20 || byte > 0x2f)
            fold->state = FOLD_TEXT;
        break;
    case FOLD_CONTROL:
        if (byte < 0x20 || byte > 0x3f)
            fold->state = FOLD_TEXT;
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

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte != DEL;
}

void fold_add(struct fold *fold, struct view bytes)
{
    for (size_t at = 0; at < bytes.len;) {
        size_t end = at;
        while (fold->state == FOLD_TEXT && end < bytes.len &&
               is_plain((unsigned char)bytes.data[end]))
            end++;
        if (end > at) {
            if (fold->returned)
                draw_over(fold);
            add(fold, (struct view){ bytes.data + at, end - at });
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

bool fold_print(struct fold *fold, struct buf *out, size_t max)
{
    CLEANUP(buf_finish) struct buf all;
    if (fold->returned)
        add(fold, VIEW("\r"));
    end_line(fold);
    buf_init(&all, fold->kept.max * 4);
    excerpt_print(&fold->kept, &all);
    bool same = !fold->changed && fold->kept.total <= fold->kept.max &&
                all.len == fold->kept.total && all.len <= max;
    text_add_clipped(out, buf_view(&all), max);
    return same;
}
