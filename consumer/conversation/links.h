/* links.h - rewrites an answer's links to images and files of its job, so that
 * they lead to where these are.
 *
 * Models name files as they please: figure-1.png, ./out.csv,
 * /workspace/out.csv, sandbox:/mnt/data/out.csv, attachment:out.csv. A target
 * of a link, of an image or of a link definition that means a file of the job
 * becomes what the operator's template makes of it. All others, and code, stay
 * as they are, byte for byte. */
#ifndef CONSUMER_LINKS_H
#define CONSUMER_LINKS_H

#include "consumer/conversation/conversation.h"

struct link_item {
    struct view name; /* as the result has it */
    struct view path; /* in the workspace; empty: as name */
    struct view blob;
};

struct links {
    const char *template; /* {blob}, {name}, {job} in it are replaced */
    struct view job;
    const struct link_item *items; /* the first that a target can mean counts */
    size_t count;
};

/* Whether it is a template; "" is: there is none. Error: bad_setting: it has no
 * {blob}, or a byte that may not stand in a link. */
bool links_check(const char *template, struct err *err);

/* Appends the Markdown to out, with its links rewritten. */
void links_write(struct buf *out, struct view markdown,
                 const struct links *links);

/* The answer as clients get it, in the arena; empty: it is as the model has
 * written it. template: of --blob-url; "", NULL: none. */
struct view links_answer(const struct conversation *conversation,
                         const char *template, struct arena *arena);

#endif
