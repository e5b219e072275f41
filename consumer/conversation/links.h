/* links.h - an answer's links to images and files of its job, made to lead
 * where those are.
 *
 * Models name what there is as they please: figure-1.png, ./out.csv,
 * /workspace/out.csv, sandbox:/mnt/data/out.csv, attachment:out.csv. Targets of
 * links, of images and of link definitions that mean one of the job's become
 * what the operator's template makes of it; all others, and code, stay as they
 * are, byte for byte. */
#ifndef CONSUMER_LINKS_H
#define CONSUMER_LINKS_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

struct link_item {
    struct view name; /* as the result has it */
    struct view path; /* in the workspace; empty: as name */
    struct view blob;
};

struct links {
    const char *template; /* {blob}, {name}, {job} in it are replaced */
    struct view job;
    const struct link_item *items; /* the first that is meant counts */
    size_t count;
};

/* "" means: none. Error: bad_setting, there is no {blob} in it, or a byte that
 * may not stand in a link. */
bool links_check(const char *template, struct err *err);

/* Appends the Markdown. */
void links_write(struct buf *out, struct view markdown,
                 const struct links *links);

#endif
