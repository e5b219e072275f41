/* search_page.c - reads the results on DuckDuckGo's HTML page. */
#include "consumer/reader/search_page.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/reader/page_tree.h"
#include "consumer/tools/search_provider.h"
#include "schemas/message/text.h"

enum { MAX_MEMORY = 192 << 20, MAX_RESULTS = 2 * MAX_SEARCH_RESULTS };

static bool has_class(const GumboNode *node, const char *name)
{
    const char *at = page_attribute(node, "class");
    size_t len = strlen(name);
    while (at && *at != '\0') {
        at += strspn(at, " \t\r\n\f");
        size_t word = strcspn(at, " \t\r\n\f");
        if (word == len && strncmp(at, name, len) == 0)
            return true;
        at += word;
    }
    return false;
}

/* The words below a node, separated by single blanks. */
static json_t *words_of(const GumboNode *root)
{
    CLEANUP(buf_finish) struct buf words, clean;
    buf_init(&words, MAX_SEARCH_TEXT);
    buf_init(&clean, (size_t)3 * MAX_SEARCH_TEXT);
    const GumboNode *node = root;
    bool space = false;
    for (; node; node = page_tree_next(node, root, true)) {
        bool is_text = node->type == GUMBO_NODE_TEXT ||
                       node->type == GUMBO_NODE_WHITESPACE;
        for (const char *c = is_text ? node->v.text.text : ""; *c; c++) {
            bool blank = strchr(" \t\r\n\f", *c) != NULL;
            if (!blank && space && words.len > 0)
                buf_add(&words, VIEW(" "));
            if (!blank)
                buf_append(&words, c, 1);
            space = blank;
        }
    }
    text_add_clean(&clean, buf_view(&words));
    return json_stringn(clean.data ? clean.data : "", clean.len);
}

/* The target of a link of the page, a new reference. NULL: it is an
 * advertisement's (y.js), or there is none. */
static json_t *target_of(const char *link)
{
    static const char word[] = "uddg=";
    const char *from = link ? strstr(link, word) : NULL;
    if (!link || strstr(link, "duckduckgo.com/y.js"))
        return NULL;
    if (!from)
        return strncmp(link, "http", 4) == 0 ? json_string(link) : NULL;
    from += sizeof(word) - 1;
    int len = 0;
    char *text = curl_easy_unescape(NULL, from, (int)strcspn(from, "&"), &len);
    json_t *url = text ? json_stringn(text, (size_t)len) : NULL;
    curl_free(text);
    return url;
}

/* A result's text comes behind its title. */
static void add_node(json_t *results, const GumboNode *node)
{
    if (has_class(node, "result__a")) {
        json_t *url = target_of(page_attribute(node, "href"));
        if (url && json_array_size(results) < MAX_RESULTS)
            json_array_append_new(results, json_pack("{s:o, s:o, s:s}", "title",
                                                     words_of(node), "url", url,
                                                     "text", ""));
        else
            json_decref(url);
    } else if (has_class(node, "result__snippet")) {
        json_t *last = json_array_get(results, json_array_size(results) - 1);
        /* A second text is that of an advertisement, which was left out. */
        if (json_string_length(json_object_get(last, "text")) == 0 && last)
            json_object_set_new(last, "text", words_of(node));
    }
}

/* False: neither results nor the words that there are none, so the page has
 * another form. */
static bool read_tree(const GumboNode *root, json_t *results)
{
    bool known = false;
    for (const GumboNode *node = root; node;
         node = page_tree_next(node, root, true)) {
        add_node(results, node);
        known |= has_class(node, "no-results");
    }
    return known || json_array_size(results) > 0;
}

bool search_page_read(struct view html, struct buf *out, struct err *err)
{
    struct page_tree tree;
    json_t *results = json_array();
    bool parsed = page_tree_parse(&tree, html, MAX_MEMORY);
    bool good = parsed && read_tree(tree.output->root, results);
    page_tree_finish(&tree);
    json_t *object = json_pack("{s:o}", "results", results);
    char *text = good ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text)
        buf_add(out, view_of(text));
    free(text);
    json_decref(object);
    if (!parsed)
        return err_set(err, ERR_REJECT, "too_large",
                       "its page takes too much memory to read");
    return good || err_set(err, ERR_RETRY, "tool_failed",
                           "its page has another form than the one known");
}
