/* page_tree.h - gumbo's parse tree of a page, in bounded memory.
 *
 * gumbo frees a tree by recursion, as deep as a hostile page likes, and says
 * nothing when it runs out of memory. Its memory is ours here: it is freed in
 * one loop, and when it is used up the parser is left where it stands. */
#ifndef CONSUMER_PAGE_TREE_H
#define CONSUMER_PAGE_TREE_H

#include <gumbo.h>
#include <setjmp.h>

#include "schemas/message/view.h"

struct page_block;

struct page_tree {
    GumboOutput *output;
    struct page_block *blocks;
    size_t bytes, max;
    jmp_buf over;
};

/* False: more than max bytes would be needed. page_tree_finish() in any case.
 */
bool page_tree_parse(struct page_tree *tree, struct view html, size_t max);
void page_tree_finish(struct page_tree *tree);

/* The node after this one, its children before its siblings, at most to the end
 * of root; NULL: there is none. children: false goes past them. */
const GumboNode *page_tree_next(const GumboNode *node, const GumboNode *root,
                                bool children);

/* NULL: the node is no element, or has no such attribute. */
const char *page_attribute(const GumboNode *node, const char *name);

#endif
