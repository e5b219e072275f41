/* page_tree.h - gumbo's parse tree of a page, in bounded memory.
 *
 * gumbo frees a tree by recursion, which a deeply nested page makes overflow
 * the stack, and it does not report that memory has run out. So it gets its
 * memory from here: all of it is freed in one loop, and when it is used up,
 * longjmp() leaves the parser. */
#ifndef CONSUMER_PAGE_TREE_H
#define CONSUMER_PAGE_TREE_H

#include <gumbo.h>
#include <setjmp.h>

#include "schemas/message/view.h"

struct page_block;

struct page_tree {
    GumboOutput *output;       /* NULL: there is none */
    struct page_block *blocks; /* all memory that gumbo has */
    size_t bytes, max;         /* of these, headers included */
    jmp_buf over;              /* where to go when more than max is asked for */
};

/* Parses html, which the tree borrows. False: more than max bytes would be
 * needed. Call page_tree_finish() in any case. */
bool page_tree_parse(struct page_tree *tree, struct view html, size_t max);
void page_tree_finish(struct page_tree *tree);

/* The next node below root in the order of the document: children come before
 * siblings, or are skipped when children is false. NULL: there is none. */
const GumboNode *page_tree_next(const GumboNode *node, const GumboNode *root,
                                bool children);

/* The value of an attribute, borrowed. NULL: the node is no element, or has no
 * such attribute. */
const char *page_attribute(const GumboNode *node, const char *name);

#endif
