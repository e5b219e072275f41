/* page_tree.c - gumbo's parse tree of a page, in bounded memory. */
#include "consumer/reader/page_tree.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

/* One allocation of gumbo, in a list of all. */
struct page_block {
    struct page_block *next, *previous;
    size_t bytes;
    alignas(max_align_t) char data[];
};

static void *page_tree_allocate(void *owner, size_t bytes)
{
    struct page_tree *tree = owner;
    size_t whole = sizeof(struct page_block) + bytes;
    /* gumbo has no way to report it, so it is left in the middle of its work.
     * What it has allocated is in tree->blocks. */
    if (whole > tree->max - tree->bytes)
        longjmp(tree->over, 1);
    struct page_block *block = malloc(whole);
    if (!block)
        longjmp(tree->over, 1);
    *block = (struct page_block){ .next = tree->blocks, .bytes = whole };
    if (block->next)
        block->next->previous = block;
    tree->blocks = block;
    tree->bytes += whole;
    return block->data;
}

static void page_tree_release(void *owner, void *data)
{
    struct page_tree *tree = owner;
    if (!data)
        return;
    struct page_block *block =
        (void *)((char *)data - offsetof(struct page_block, data));
    if (block->next)
        block->next->previous = block->previous;
    if (block->previous)
        block->previous->next = block->next;
    else
        tree->blocks = block->next;
    tree->bytes -= block->bytes;
    free(block);
}

bool page_tree_parse(struct page_tree *tree, struct view html, size_t max)
{
    tree->output = NULL;
    tree->blocks = NULL;
    tree->bytes = 0;
    tree->max = max;
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = page_tree_allocate;
    options.deallocator = page_tree_release;
    options.userdata = tree;
    options.max_errors = 0;
    if (setjmp(tree->over) != 0)
        return false;
    tree->output = gumbo_parse_with_options(
        &options, !html.data ? "" : html.data, html.len);
    return tree->output;
}

void page_tree_finish(struct page_tree *tree)
{
    while (tree->blocks) {
        struct page_block *block = tree->blocks;
        tree->blocks = block->next;
        free(block);
    }
    tree->output = NULL;
}

static const GumboVector *children_of(const GumboNode *node)
{
    if (node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE)
        return &node->v.element.children;
    return node->type == GUMBO_NODE_DOCUMENT ? &node->v.document.children
                                             : NULL;
}

const GumboNode *page_tree_next(const GumboNode *node, const GumboNode *root,
                                bool children)
{
    const GumboVector *own = children_of(node);
    if (children && own && own->length > 0)
        return own->data[0];
    for (; node != root && node->parent; node = node->parent) {
        const GumboVector *beside = children_of(node->parent);
        if (node->index_within_parent + 1 < beside->length)
            return beside->data[node->index_within_parent + 1];
    }
    return NULL;
}

const char *page_attribute(const GumboNode *node, const char *name)
{
    if (node->type != GUMBO_NODE_ELEMENT)
        return NULL;
    const GumboAttribute *found =
        gumbo_get_attribute(&node->v.element.attributes, name);
    return found ? found->value : NULL;
}
