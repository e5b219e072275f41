/* files.h - the files of a session, from outside.
 *
 * Names are what hostile code made. So every path is resolved beneath the
 * workspace, through no symbolic link and no /proc magic, opened without
 * waiting, and only then, on the open file, found to be a regular one. */
#ifndef EXECUTOR_WARDEN_FILES_H
#define EXECUTOR_WARDEN_FILES_H

#include "schemas/message/frame.h"

/* Writes data at offset; offset 0 makes the file anew, and the folders that
 * name says. workspace: a descriptor of the folder. */
bool files_put(int workspace, struct view name, uint64_t offset,
               struct view data, struct err *err);

/* Opens a regular file of at most MAX_FILE_BYTES for reading. */
bool files_open(int workspace, struct view name, int *fd, uint64_t *bytes,
                struct err *err);

/* What is in a workspace: regular files, not those whose name, or whose
 * folder's name, begins with a dot or is __pycache__. */
enum {
    LISTING_ENTRIES = 4096, /* looked at, folders included */
    LISTING_DEPTH = 16,
    LISTING_NAME_BYTES = 512 << 10, /* they go into one frame */
};
struct file_listing {
    struct listed_file {
        char *name;
        uint64_t inode, bytes;
        int64_t modified_ns, changed_ns;
    } * files; /* sorted by name */
    size_t count, room;
    size_t name_bytes;
    int64_t newest_ns; /* of changed_ns */
    bool cut;          /* there was more */
};

/* A zeroed listing is empty. Replaces what was in it. False: there is something
 * that our user may not look at. */
bool listing_read(struct file_listing *listing, int workspace);
void listing_finish(struct file_listing *listing);

/* A file changed just now: were it changed again at once, nothing would tell.
 * The kernel's clock for that goes in ticks of some milliseconds. */
bool listing_is_fresh(const struct file_listing *listing);

/* What is there, of struct workspace_file. The list and its names live in the
 * arena. */
struct list listing_all(const struct file_listing *listing,
                        struct arena *arena);
/* Only what is new, changed or deleted: by inode, size and times, so that what
 * was written again with the same bytes is changed. Of listings that were cut
 * only what is sure: what is not in the first may have been there all the same,
 * unless it has changed since; what is not in the second may still be. *cut:
 * not all of it is told. */
struct list listing_changes(const struct file_listing *before,
                            const struct file_listing *after,
                            struct arena *arena, bool *cut);

#endif
