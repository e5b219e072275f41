/* page.c - what a person would read of an HTML page, as Markdown.
 *
 * One walk through the tree, without recursion, since a hostile page may be
 * nested as deep as it likes: each element is entered and left. What it wants
 * before the next word (a line feed, a bullet, a bracket) is only noted, and
 * page_prepare() writes it with that word. So empty elements leave nothing. */
#include "consumer/reader/page.h"

#include <ctype.h>
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "consumer/reader/page_tree.h"
#include "schemas/message/text.h"

enum {
    MAX_LISTS = 8,  /* nested; deeper ones are written as at this depth */
    MAX_QUOTES = 4, /* the same */
    MAX_LINK =
        1000, /* bytes of a URL; a link with a longer one is plain text */
};

struct page_writer {
    struct buf *out;
    CURLU *base; /* that links are relative to */
    /* Due before the next word: */
    unsigned int lines;   /* line feeds; 2 leave an empty line */
    bool space;           /* a blank */
    bool marked;          /* the bullet or number of a list's item */
    unsigned int heading; /* so many # */
    /* Where the walk is: */
    unsigned int lists, quotes;      /* depth of these */
    unsigned int numbers[MAX_LISTS]; /* of the next item; 0: a bullet */
    const GumboNode *link;           /* the open one; NULL: none */
    struct buf url;                  /* of it, "(...)" */
    bool bracket;                    /* its [ is written */
    const GumboNode *fence;          /* the open pre; NULL: none */
    const GumboNode *table; /* the open one that is written as a table */
    unsigned int cells;     /* of its row, so far */
    bool headed;            /* its first row is written */
    bool in_cell;           /* all on one line, with | escaped */
};

/* ----------------------------------------------------------------- writing */

static void want_lines(struct page_writer *writer, unsigned int lines)
{
    if (writer->in_cell)
        writer->space = true;
    else if (lines > writer->lines)
        writer->lines = lines;
}

static void start_line(struct page_writer *writer)
{
    unsigned int lists = writer->lists < MAX_LISTS ? writer->lists : MAX_LISTS;
    for (unsigned int i = 0; i < writer->quotes && i < MAX_QUOTES; i++)
        buf_add(writer->out, VIEW("> "));
    for (unsigned int i = 0; i + 1 < lists + !writer->marked; i++)
        buf_add(writer->out, VIEW("  "));
    if (writer->marked && lists > 0) {
        unsigned int *number = &writer->numbers[lists - 1];
        if (*number > 0)
            buf_printf(writer->out, "%u. ", (*number)++);
        else
            buf_add(writer->out, VIEW("- "));
    }
    writer->marked = false;
}

/* Writes what is due before the next word. */
static void page_prepare(struct page_writer *writer)
{
    bool first = writer->out->len == 0;
    if (writer->lines > 0 || first) {
        for (unsigned int i = 0; i < writer->lines && !first; i++)
            buf_add(writer->out, VIEW("\n"));
        start_line(writer);
    } else if (writer->space) {
        buf_add(writer->out, VIEW(" "));
    }
    writer->lines = 0;
    writer->space = false;
    for (; writer->heading > 0; writer->heading--)
        buf_add(writer->out, writer->heading == 1 ? VIEW("# ") : VIEW("#"));
    if (writer->link && !writer->bracket) {
        buf_add(writer->out, VIEW("["));
        writer->bracket = true;
    }
}

static void page_add_word(struct page_writer *writer, struct view word)
{
    page_prepare(writer);
    for (size_t i = 0; i < word.len; i++) {
        char c = word.data[i];
        if (c == '|' && writer->in_cell)
            buf_add(writer->out, VIEW("\\"));
        if (((unsigned char)c >= ' ' && c != 0x7f) || c == '\t')
            buf_append(writer->out, &c, 1);
    }
}

static void page_add_text(struct page_writer *writer, const char *text)
{
    while (*text != '\0') {
        size_t blank = strspn(text, " \t\r\n\f");
        size_t word = strcspn(text + blank, " \t\r\n\f");
        writer->space |= blank > 0;
        if (word > 0)
            page_add_word(writer, (struct view){ text + blank, word });
        text += blank + word;
    }
}

/* Adds code line by line, with its blanks. */
static void add_lines(struct page_writer *writer, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\r\n");
        if (len > 0)
            page_add_word(writer, (struct view){ text, len });
        text += len;
        if (*text == '\n' && writer->lines < 3)
            writer->lines++;
        text += *text != '\0';
    }
}

/* ------------------------------------------------------------------- links */

static struct view trim(struct view text)
{
    while (text.len > 0 && isspace((unsigned char)*text.data))
        text = (struct view){ text.data + 1, text.len - 1 };
    while (text.len > 0 && isspace((unsigned char)text.data[text.len - 1]))
        text.len--;
    return text;
}

/* Appends "(http://...)"; nothing for a reference to no page: a script, mail, a
 * place in this page. Parentheses are escaped: they would end the Markdown. */
static void add_url(const struct page_writer *writer, const char *reference,
                    struct buf *out)
{
    CLEANUP(cleanup_free) char *own = view_dup(trim(view_of(reference)));
    CURLU *url =
        *own != '\0' && *own != '#' ? curl_url_dup(writer->base) : NULL;
    char *whole = NULL, *scheme = NULL;
    if (url &&
        curl_url_set(url, CURLUPART_URL, own, CURLU_URLENCODE) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        strncmp(scheme, "http", 4) == 0 &&
        curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK &&
        strlen(whole) <= MAX_LINK) {
        buf_add(out, VIEW("("));
        for (const char *c = whole; *c != '\0'; c++)
            if (*c == '(' || *c == ')')
                buf_add(out, *c == '(' ? VIEW("%28") : VIEW("%29"));
            else if ((unsigned char)*c > ' ')
                buf_append(out, c, 1);
        buf_add(out, VIEW(")"));
    }
    curl_free(scheme);
    curl_free(whole);
    curl_url_cleanup(url);
}

static void enter_link(struct page_writer *writer, const GumboNode *node)
{
    if (writer->link)
        return;
    buf_clear(&writer->url);
    add_url(writer, page_attribute(node, "href"), &writer->url);
    if (writer->url.len > 0)
        writer->link = node;
}

static void leave_link(struct page_writer *writer, const GumboNode *node)
{
    if (writer->link != node)
        return;
    if (writer->bracket) {
        buf_add(writer->out, VIEW("]"));
        buf_add(writer->out, buf_view(&writer->url));
    }
    writer->link = NULL;
    writer->bracket = false;
}

static void add_image(struct page_writer *writer, const GumboNode *node)
{
    struct view words = trim(view_of(page_attribute(node, "alt")));
    if (words.len == 0)
        return;
    CLEANUP(cleanup_free) char *text = view_dup(words);
    page_prepare(writer);
    buf_add(writer->out, VIEW("!["));
    page_add_text(writer, text);
    buf_add(writer->out, VIEW("]"));
    add_url(writer, page_attribute(node, "src"), writer->out);
}

/* ------------------------------------------------------------------ tables */

/* Whether a table holds data. Old pages use tables for their layout: those have
 * tables or headings in them. */
static bool has_facts(const GumboNode *table)
{
    const GumboNode *node = table;
    while ((node = page_tree_next(node, table, true))) {
        if (node->type != GUMBO_NODE_ELEMENT)
            continue;
        GumboTag tag = node->v.element.tag;
        if (tag == GUMBO_TAG_TABLE ||
            (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6))
            return false;
    }
    return true;
}

static void enter_cell(struct page_writer *writer)
{
    if (!writer->table) {
        want_lines(writer, 1);
        return;
    }
    writer->in_cell = false;
    writer->space = writer->cells > 0;
    page_prepare(writer);
    buf_add(writer->out, VIEW("|"));
    writer->space = true;
    writer->in_cell = true;
    writer->cells++;
}

static void leave_row(struct page_writer *writer)
{
    if (!writer->table || writer->cells == 0)
        return;
    writer->in_cell = false;
    buf_add(writer->out, VIEW(" |"));
    want_lines(writer, 1);
    if (!writer->headed) {
        page_prepare(writer);
        for (unsigned int i = 0; i < writer->cells; i++)
            buf_add(writer->out, VIEW("| --- "));
        buf_add(writer->out, VIEW("|"));
        want_lines(writer, 1);
    }
    writer->headed = true;
    writer->cells = 0;
}

static void leave_table(struct page_writer *writer, const GumboNode *node)
{
    if (writer->table == node) {
        leave_row(writer);
        writer->table = NULL;
        writer->in_cell = false;
    }
    want_lines(writer, 2);
}

/* ---------------------------------------------------------------- elements */

static bool is_skipped(const GumboNode *node)
{
    const char *hidden = page_attribute(node, "aria-hidden");
    const char *role = page_attribute(node, "role");
    if ((hidden && strcasecmp(hidden, "true") == 0) ||
        (role && strcasecmp(role, "navigation") == 0) ||
        page_attribute(node, "hidden"))
        return true;
    static const GumboTag skipped[] = {
        GUMBO_TAG_HEAD,     GUMBO_TAG_SCRIPT, GUMBO_TAG_STYLE,
        GUMBO_TAG_NAV,      GUMBO_TAG_SVG,    GUMBO_TAG_NOSCRIPT,
        GUMBO_TAG_IFRAME,   GUMBO_TAG_OBJECT, GUMBO_TAG_CANVAS,
        GUMBO_TAG_AUDIO,    GUMBO_TAG_VIDEO,  GUMBO_TAG_SELECT,
        GUMBO_TAG_BUTTON,   GUMBO_TAG_INPUT,  GUMBO_TAG_TEXTAREA,
        GUMBO_TAG_TEMPLATE,
    };
    for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
        if (node->v.element.tag == skipped[i])
            return true;
    return false;
}

/* How many line feeds an element begins and ends with. */
static unsigned int lines_of(GumboTag tag)
{
    static const GumboTag apart[] = {
        GUMBO_TAG_P,       GUMBO_TAG_H1,    GUMBO_TAG_H2,
        GUMBO_TAG_H3,      GUMBO_TAG_H4,    GUMBO_TAG_H5,
        GUMBO_TAG_H6,      GUMBO_TAG_TABLE, GUMBO_TAG_BLOCKQUOTE,
        GUMBO_TAG_ARTICLE, GUMBO_TAG_PRE,   GUMBO_TAG_SECTION,
        GUMBO_TAG_HR,      GUMBO_TAG_DL,    GUMBO_TAG_FIGURE,
    };
    static const GumboTag below[] = {
        GUMBO_TAG_DIV,    GUMBO_TAG_LI,      GUMBO_TAG_TR,
        GUMBO_TAG_BR,     GUMBO_TAG_DT,      GUMBO_TAG_DD,
        GUMBO_TAG_HEADER, GUMBO_TAG_FOOTER,  GUMBO_TAG_ASIDE,
        GUMBO_TAG_MAIN,   GUMBO_TAG_ADDRESS, GUMBO_TAG_FIGCAPTION,
        GUMBO_TAG_FORM,   GUMBO_TAG_CAPTION, GUMBO_TAG_DETAILS,
        GUMBO_TAG_UL,     GUMBO_TAG_OL,      GUMBO_TAG_SUMMARY,
    };
    for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
        if (tag == apart[i])
            return 2;
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
        if (tag == below[i])
            return 1;
    return 0;
}

static void enter_list(struct page_writer *writer, const GumboNode *node)
{
    bool ordered = node->v.element.tag == GUMBO_TAG_OL;
    want_lines(writer, writer->lists == 0 ? 2 : 1);
    writer->lists++;
    if (writer->lists <= MAX_LISTS)
        writer->numbers[writer->lists - 1] = ordered;
}

static void enter_table(struct page_writer *writer, const GumboNode *node)
{
    if (writer->table || !has_facts(node))
        return;
    writer->table = node;
    writer->headed = false;
    writer->cells = 0;
}

static void enter_code(struct page_writer *writer, const GumboNode *node)
{
    if (writer->fence || writer->in_cell)
        return;
    page_prepare(writer);
    buf_add(writer->out, VIEW("```"));
    writer->lines = 1;
    writer->fence = node;
}

static void leave_code(struct page_writer *writer, const GumboNode *node)
{
    if (writer->fence != node)
        return;
    writer->fence = NULL;
    writer->lines = 1;
    page_prepare(writer);
    buf_add(writer->out, VIEW("```"));
}

static void enter_element(struct page_writer *writer, const GumboNode *node)
{
    GumboTag tag = node->v.element.tag;
    want_lines(writer, lines_of(tag));
    if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 && !writer->in_cell)
        writer->heading = (unsigned int)(tag - GUMBO_TAG_H1) + 1;
    else if (tag == GUMBO_TAG_UL || tag == GUMBO_TAG_OL)
        enter_list(writer, node);
    else if (tag == GUMBO_TAG_LI && writer->lists > 0 && !writer->in_cell)
        writer->marked = true;
    else if (tag == GUMBO_TAG_BLOCKQUOTE)
        writer->quotes++;
    else if (tag == GUMBO_TAG_A)
        enter_link(writer, node);
    else if (tag == GUMBO_TAG_IMG)
        add_image(writer, node);
    else if (tag == GUMBO_TAG_TABLE)
        enter_table(writer, node);
    else if (tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH)
        enter_cell(writer);
    else if (tag == GUMBO_TAG_PRE)
        enter_code(writer, node);
    else if (tag == GUMBO_TAG_HR && !writer->in_cell)
        page_add_word(writer, VIEW("---"));
}

static void leave_element(struct page_writer *writer, const GumboNode *node)
{
    GumboTag tag = node->v.element.tag;
    if (tag == GUMBO_TAG_UL || tag == GUMBO_TAG_OL) {
        writer->lists--;
        writer->marked = false;
        want_lines(writer, writer->lists == 0 ? 2 : 1);
    } else if (tag == GUMBO_TAG_LI) {
        writer->marked = false;
    } else if (tag == GUMBO_TAG_BLOCKQUOTE) {
        writer->quotes--;
    } else if (tag == GUMBO_TAG_A) {
        leave_link(writer, node);
    } else if (tag == GUMBO_TAG_TABLE) {
        leave_table(writer, node);
    } else if (tag == GUMBO_TAG_TR) {
        leave_row(writer);
    } else if (tag == GUMBO_TAG_PRE) {
        leave_code(writer, node);
    } else if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6) {
        writer->heading = 0;
    }
    if (tag != GUMBO_TAG_BR)
        want_lines(writer, lines_of(tag));
}

/* ----------------------------------------------------------------- walking */

static void add_node(struct page_writer *writer, const GumboNode *node)
{
    if (node->type != GUMBO_NODE_TEXT && node->type != GUMBO_NODE_WHITESPACE &&
        node->type != GUMBO_NODE_CDATA)
        return;
    if (writer->fence)
        add_lines(writer, node->v.text.text);
    else
        page_add_text(writer, node->v.text.text);
}

/* Enters a node. False: its children are skipped. */
static bool page_enter(struct page_writer *writer, const GumboNode *node)
{
    if (node->type == GUMBO_NODE_TEMPLATE ||
        (node->type == GUMBO_NODE_ELEMENT && is_skipped(node)))
        return false;
    if (node->type == GUMBO_NODE_ELEMENT)
        enter_element(writer, node);
    else
        add_node(writer, node);
    return true;
}

/* Leaves all nodes that end before the next one begins. */
static void leave_to(struct page_writer *writer, const GumboNode *node,
                     const GumboNode *next, const GumboNode *root)
{
    const GumboNode *stop = next ? next->parent : root->parent;
    for (; node != stop && node; node = node->parent)
        if (node->type == GUMBO_NODE_ELEMENT && !is_skipped(node))
            leave_element(writer, node);
}

static void walk(struct page_writer *writer, const GumboNode *root)
{
    const GumboNode *node = root;
    while (node) {
        bool inside = page_enter(writer, node);
        const GumboNode *next = page_tree_next(node, root, inside);
        leave_to(writer, node, next, root);
        node = next;
    }
}

static const GumboNode *page_find_tag(const GumboNode *root, GumboTag tag)
{
    const GumboNode *node = root;
    while (node &&
           (node->type != GUMBO_NODE_ELEMENT || node->v.element.tag != tag))
        node = page_tree_next(node, root, true);
    return node;
}

static void read_title(struct buf *title, const GumboNode *root)
{
    const GumboNode *node = page_find_tag(root, GUMBO_TAG_TITLE);
    if (!node || node->v.element.children.length == 0)
        return;
    const GumboNode *text = node->v.element.children.data[0];
    if (text->type != GUMBO_NODE_TEXT)
        return;
    CLEANUP(buf_finish) struct buf words;
    buf_init(&words, MAX_PAGE_TITLE);
    struct page_writer writer = { .out = &words };
    page_add_text(&writer, text->v.text.text);
    text_add_line(title, buf_view(&words), MAX_PAGE_TITLE);
}

static void page_read_text(struct buf *text, const GumboNode *root,
                           const char *url)
{
    struct page_writer writer = { .out = text, .base = curl_url() };
    const GumboNode *base = page_find_tag(root, GUMBO_TAG_BASE);
    const char *other = base ? page_attribute(base, "href") : NULL;
    curl_url_set(writer.base, CURLUPART_URL, url, 0);
    if (other)
        curl_url_set(writer.base, CURLUPART_URL, other, CURLU_URLENCODE);
    buf_init(&writer.url, (size_t)3 * MAX_LINK);
    walk(&writer, root);
    buf_finish(&writer.url);
    curl_url_cleanup(writer.base);
}

bool page_read(struct page *page, struct view html, const char *url,
               struct err *err)
{
    struct page_tree tree;
    buf_init(&page->title, (size_t)4 * MAX_PAGE_TITLE);
    buf_init(&page->text, MAX_PAGE_TEXT);
    bool good = page_tree_parse(&tree, html, MAX_PAGE_MEMORY) ||
                err_set(err, ERR_REJECT, "too_large",
                        "the page takes more than %d bytes of memory to read",
                        MAX_PAGE_MEMORY);
    if (good) {
        read_title(&page->title, tree.output->root);
        page_read_text(&page->text, tree.output->root, url);
    }
    page_tree_finish(&tree);
    return good;
}

void page_finish(struct page *page)
{
    buf_finish(&page->title);
    buf_finish(&page->text);
}
