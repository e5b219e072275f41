/* links.c - rewrites an answer's links to images and files of its job, so that
 * they lead to where these are. */
#include "consumer/conversation/links.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "consumer/conversation/markdown.h"

enum {
    TARGET_BYTES = 4096,
    TITLE_BYTES = 1024,
    CODE_COLUMNS = 4, /* of indentation make a line code */
    MAX_TICKS = 63,   /* bits of paragraph.never */
    MAX_DEPTH = 32,   /* of brackets in a target, as in CommonMark */
};

/* ------------------------------------------------------------- the template */

bool links_check(const char *template, struct err *err)
{
    if (*template == '\0')
        return true;
    for (const char *at = template; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f || strchr("<>()\\\"`", *at))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "\"%c\" (%d) may not stand in a link",
                           *at > ' ' && *at < 0x7f ? *at : '?', (int)*at);
    return strstr(template, "{blob}") ||
           err_set(err, ERR_REJECT, "bad_setting", "must have {blob} in it");
}

static void links_add_escaped(struct buf *out, struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (isalnum(byte) || (byte != '\0' && strchr("-._~", byte)))
            buf_append(out, &text.data[i], 1);
        else
            buf_printf(out, "%%%02X", byte);
    }
}

static void add_link(struct buf *out, const struct links *links,
                     const struct link_item *to)
{
    const struct {
        const char *word;
        struct view value;
    } words[] = {
        { "{blob}", to->blob },
        { "{name}", to->name },
        { "{job}", links->job },
    };
    struct view rest = view_of(links->template);
    while (rest.len > 0) {
        size_t taken = 0;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (taken == 0 && view_starts(rest, words[i].word)) {
                links_add_escaped(out, words[i].value);
                taken = strlen(words[i].word);
            }
        if (taken == 0)
            buf_append(out, rest.data, taken = 1);
        rest.data += taken;
        rest.len -= taken;
    }
}

/* ------------------------------------------------------------ what is meant */

/* Reads one byte that may be escaped; returns how many bytes it took. */
static size_t read_escaped(struct view text, char *byte)
{
    const char *at = text.data;
    *byte = *at;
    if (*at == '\\' && text.len > 1 && ispunct((unsigned char)at[1])) {
        *byte = at[1];
        return 2;
    }
    if (*at != '%' || text.len < 3 || byte_hex(at[1]) < 0 ||
        byte_hex(at[2]) < 0)
        return 1;
    *byte = (char)(unsigned char)(byte_hex(at[1]) * 16 + byte_hex(at[2]));
    return 3;
}

/* Without the escapes of Markdown and of URLs. */
static void add_plain(struct buf *out, struct view target)
{
    char byte;
    while (target.len > 0) {
        size_t taken = read_escaped(target, &byte);
        buf_append(out, &byte, 1);
        target.data += taken;
        target.len -= taken;
    }
}

static bool strip(struct view *text, const char *head)
{
    if (!view_starts(*text, head))
        return false;
    text->data += strlen(head);
    text->len -= strlen(head);
    return true;
}

static const struct link_item *links_find(const struct links *links,
                                          struct view name)
{
    for (size_t i = 0; i < links->count; i++)
        if (view_equal(links->items[i].name, name) ||
            (name.len > 0 && view_equal(links->items[i].path, name)))
            return &links->items[i];
    return NULL;
}

static struct view base_of(struct view path)
{
    const char *slash = memrchr(path.data, '/', path.len);
    size_t at = !slash ? 0 : (size_t)(slash - path.data) + 1;
    return (struct view){ path.data + at, path.len - at };
}

/* The file that a target means, in whatever folder the model believes to work;
 * NULL: none. */
static const struct link_item *meant(const struct links *links,
                                     struct view target)
{
    CLEANUP(buf_finish) struct buf plain;
    buf_init(&plain, TARGET_BYTES);
    add_plain(&plain, target);
    struct view name = buf_view(&plain);
    bool loose = strip(&name, "sandbox:") || strip(&name, "attachment:");
    bool rooted = loose || strip(&name, "file:");
    while (rooted && view_starts(name, "//"))
        strip(&name, "/");
    if (!strip(&name, "/workspace/") && !strip(&name, "/mnt/data/") && loose)
        strip(&name, "/");
    while (strip(&name, "./"))
        ;
    const struct link_item *found =
        name.len == 0 ? NULL : links_find(links, name);
    if (!found && loose && name.len > 0)
        found = links_find(links, base_of(name));
    return found;
}

/* ------------------------------------------------------------- a paragraph */

/* Text without fences and blank lines. */
struct paragraph {
    const struct links *links;
    struct buf *out;
    struct view text;
    size_t copied;  /* the first so many bytes were written to out */
    uint64_t never; /* a bit for each number of backticks that does not come any
                       more: searching again each time would take too long */
};

static char byte_at(const struct paragraph *paragraph, size_t at)
{
    if (at >= paragraph->text.len)
        return '\0';
    return paragraph->text.data[at];
}

static size_t links_skip_blanks(const struct paragraph *paragraph, size_t at)
{
    while (at < paragraph->text.len &&
           isspace((unsigned char)paragraph->text.data[at]))
        at++;
    return at;
}

static size_t ticks_at(const struct paragraph *paragraph, size_t at)
{
    size_t count = 0;
    while (byte_at(paragraph, at + count) == '`')
        count++;
    return count;
}

/* The place behind the code that begins there, or, if that never ends, behind
 * its backticks. */
static size_t behind_code(struct paragraph *paragraph, size_t at)
{
    size_t ticks = ticks_at(paragraph, at), from = at + ticks;
    if (ticks > MAX_TICKS || (paragraph->never >> ticks & 1) != 0)
        return from;
    for (size_t i = from; i < paragraph->text.len;) {
        size_t count = ticks_at(paragraph, i);
        if (count == ticks)
            return i + count;
        i += count > 0 ? count : 1;
    }
    paragraph->never |= UINT64_C(1) << ticks;
    return from;
}

/* A target is [at, end); whole_end: behind its bracket, if it is in brackets.
 */
struct link_target {
    size_t at, end, whole_end;
};

static bool read_bracketed(const struct paragraph *paragraph, size_t at,
                           struct link_target *target)
{
    size_t end = at + 1;
    for (; end - at < TARGET_BYTES; end++) {
        char byte = byte_at(paragraph, end);
        if (byte == '\\' && ispunct((unsigned char)byte_at(paragraph, end + 1)))
            end++;
        else if (byte == '>')
            break;
        else if (byte == '\0' || byte == '<' || byte == '\n')
            return false;
    }
    *target = (struct link_target){ at + 1, end, end + 1 };
    return byte_at(paragraph, end) == '>';
}

static bool read_target(const struct paragraph *paragraph, size_t at,
                        struct link_target *target)
{
    if (byte_at(paragraph, at) == '<')
        return read_bracketed(paragraph, at, target);
    size_t depth = 0, end = at;
    for (; end - at < TARGET_BYTES && end < paragraph->text.len; end++) {
        char byte = paragraph->text.data[end];
        if (isspace((unsigned char)byte) || (byte == ')' && depth == 0))
            break;
        if (byte == '\\' && ispunct((unsigned char)byte_at(paragraph, end + 1)))
            end++;
        depth += byte == '(';
        depth -= byte == ')';
        if (depth > MAX_DEPTH)
            return false;
    }
    if (end > paragraph->text.len)
        end = paragraph->text.len;
    *target = (struct link_target){ at, end, end };
    return end > at && depth == 0;
}

/* A link ends there, with a title or without. */
static bool ends_link(const struct paragraph *paragraph, size_t at)
{
    size_t next = links_skip_blanks(paragraph, at);
    char open = byte_at(paragraph, next);
    if (open == ')')
        return true;
    if (next == at || (open != '"' && open != '\'' && open != '('))
        return false;
    char close = open;
    if (open == '(')
        close = ')';
    for (size_t i = next + 1; i - next < TITLE_BYTES; i++) {
        char byte = byte_at(paragraph, i);
        if (byte == '\0' || (byte == '(' && open == '('))
            return false;
        if (byte == '\\')
            i++;
        else if (byte == close)
            return byte_at(paragraph, links_skip_blanks(paragraph, i + 1)) ==
                   ')';
    }
    return false;
}

/* A target with blanks in it, which Markdown does not allow and models write:
 * up to the first bracket of the line. */
static bool read_sloppy(const struct paragraph *paragraph, size_t at,
                        struct link_target *target)
{
    size_t end = at;
    while (end < paragraph->text.len && end - at < TARGET_BYTES &&
           paragraph->text.data[end] != '\0' &&
           !byte_is_of(paragraph->text.data[end], "()[]<>`\\\r\n"))
        end++;
    *target = (struct link_target){ at, end, end };
    return end > at && byte_at(paragraph, end) == ')';
}

static bool rewrite(struct paragraph *paragraph,
                    const struct link_target *target)
{
    struct view name = { paragraph->text.data + target->at,
                         target->end - target->at };
    const struct link_item *to = meant(paragraph->links, name);
    if (!to)
        return false;
    buf_append(paragraph->out, paragraph->text.data + paragraph->copied,
               target->at - paragraph->copied);
    add_link(paragraph->out, paragraph->links, to);
    paragraph->copied = target->end;
    return true;
}

/* at: behind "](". Returns where to read on. */
static size_t take_link(struct paragraph *paragraph, size_t at)
{
    struct link_target target;
    size_t begin = links_skip_blanks(paragraph, at);
    if (read_target(paragraph, begin, &target) &&
        ends_link(paragraph, target.whole_end)) {
        rewrite(paragraph, &target);
        return target.whole_end;
    }
    if (read_sloppy(paragraph, begin, &target) && rewrite(paragraph, &target))
        return target.whole_end;
    return at;
}

/* "[label]: target", at the beginning of a line. Returns where to read on. */
static size_t take_definition(struct paragraph *paragraph, size_t at)
{
    struct link_target target;
    size_t i = at;
    while (i - at < CODE_COLUMNS && byte_at(paragraph, i) == ' ')
        i++;
    if (byte_at(paragraph, i) != '[')
        return at;
    for (i++; byte_at(paragraph, i) != ']'; i++)
        if (i - at > TITLE_BYTES || i >= paragraph->text.len ||
            byte_at(paragraph, i) == '\n')
            return at;
    if (byte_at(paragraph, i + 1) != ':' ||
        !read_target(paragraph, links_skip_blanks(paragraph, i + 2), &target))
        return at;
    rewrite(paragraph, &target);
    return target.whole_end;
}

static void write_paragraph(const struct links *links, struct buf *out,
                            struct view text)
{
    struct paragraph paragraph = { links, out, text, 0, 0 };
    size_t open = 0; /* brackets */
    for (size_t at = 0; at < text.len;) {
        char byte = text.data[at];
        size_t next = at;
        if (markdown_starts_line(text, at))
            next = take_definition(&paragraph, at);
        if (next > at) {
            at = next;
            continue;
        }
        if (byte == '`')
            next = behind_code(&paragraph, at);
        else if (byte == '\\')
            next = at + 2;
        else if (byte == ']' && open > 0 && byte_at(&paragraph, at + 1) == '(')
            next = take_link(&paragraph, at + 2);
        open += byte == '[';
        open -= byte == ']' && open > 0;
        at = next > at ? next : at + 1;
    }
    buf_append(out, text.data + paragraph.copied, text.len - paragraph.copied);
}

/* -------------------------------------------------------------- all of it */

static size_t columns_before(struct view line)
{
    size_t columns = 0, i = 0;
    for (; i < line.len && (line.data[i] == ' ' || line.data[i] == '\t'); i++)
        columns += line.data[i] == '\t' ? CODE_COLUMNS : 1;
    return i == line.len ? 0 : columns;
}

void links_write(struct buf *out, struct view markdown,
                 const struct links *links)
{
    struct fence fence;
    bool fenced = false;
    size_t item = 0, begin = 0, next;
    for (size_t at = 0; at < markdown.len; at = next) {
        struct view line = markdown_line(markdown, at, &next);
        bool opens = !fenced && fence_opens(&fence, line, item);
        bool code = at == begin && columns_before(line) >= item + CODE_COLUMNS;
        bool blank = view_trimmed(line).len == 0;
        if (fenced || opens || code || blank) {
            struct view before = { markdown.data + begin, at - begin };
            write_paragraph(links, out, before);
            buf_append(out, markdown.data + at, next - at);
            begin = next;
        }
        fenced = opens || (fenced && !fence_closes(&fence, line));
        item = fenced ? item : item_after(line, item);
    }
    struct view rest = { markdown.data + begin, markdown.len - begin };
    write_paragraph(links, out, rest);
}

/* ------------------------------------------------------------- the answer */

static void add_images(struct links *links, struct link_item *items,
                       const struct list *list)
{
    const struct image_ref *images = list->items;
    for (size_t i = 0; i < list->count; i++)
        items[links->count++] = (struct link_item){
            .name = images[i].name,
            .blob = images[i].blob,
        };
}

/* As the cell left them, the last one first. */
static void add_files(struct links *links, struct link_item *items,
                      const struct list *list)
{
    const struct cell_file *files = list->items;
    for (size_t i = list->count; i-- > 0;)
        if (files[i].blob.len > 0)
            items[links->count++] = (struct link_item){
                .name = files[i].name,
                .path = files[i].path,
                .blob = files[i].blob,
            };
}

static void add_uploads(struct links *links, struct link_item *items,
                        const struct list *list)
{
    const struct file_ref *files = list->items;
    for (size_t i = 0; i < list->count; i++)
        items[links->count++] = (struct link_item){
            .name = files[i].name,
            .blob = files[i].blob,
        };
}

static size_t count_of(const struct conversation *conversation)
{
    size_t count = conversation->job->files.count;
    for (size_t i = 0; i < conversation->result_count; i++)
        count += conversation->results[i].images.count +
                 conversation->results[i].cell.files.count;
    return count;
}

/* Images first, then files, the latest first: the first item that a link can
 * mean counts. */
static struct links links_of(const struct conversation *conversation,
                             const char *template, struct arena *arena)
{
    struct link_item *items =
        arena_alloc(arena, (count_of(conversation) + 1) * sizeof(*items));
    struct links links = {
        .template = template,
        .job = conversation->job->id,
        .items = items,
    };
    for (size_t i = 0; i < conversation->result_count; i++)
        add_images(&links, items, &conversation->results[i].images);
    for (size_t i = conversation->result_count; i-- > 0;)
        add_files(&links, items, &conversation->results[i].cell.files);
    add_uploads(&links, items, &conversation->job->files);
    return links;
}

struct view links_answer(const struct conversation *conversation,
                         const char *template, struct arena *arena)
{
    struct view said = conversation_answer(conversation);
    if (!template || *template == '\0' || said.len == 0)
        return (struct view){ 0 };
    struct links links = links_of(conversation, template, arena);
    CLEANUP(buf_finish) struct buf answer;
    buf_init(&answer, (size_t)4 << 20);
    links_write(&answer, said, &links);
    /* With all of its links it is too long: it stays as it was written. */
    return buf_ok(&answer) ? arena_copy(arena, buf_view(&answer))
                           : (struct view){ 0 };
}
