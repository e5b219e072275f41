/* files.h - the files of a session, from outside.
 *
 * Hostile code makes these names, and may change them while we look. So the
 * kernel resolves every path beneath the workspace, through no symbolic link
 * and no magic link of /proc, and opens it without waiting. Only the open file
 * is checked to be a regular one: code could exchange a file between a check
 * and the open. */
#ifndef EXECUTOR_WARDEN_FILES_H
#define EXECUTOR_WARDEN_FILES_H

#include "schemas/message/frame.h"

/* Writes data at offset; offset 0 makes the file anew, and the folders in its
 * name. At most MAX_FILE_BYTES. workspace: a descriptor of the folder. */
bool files_put(int workspace, struct view name, uint64_t offset,
               struct view data, struct err *err);

/* Opens a regular file of at most MAX_FILE_BYTES for reading. The caller closes
 * *fd. The file may change afterwards. */
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

/* Replaces what was in the listing; a zeroed one is empty. False: there is
 * something that our user may not look at, and which is not in it. */
bool listing_read(struct file_listing *listing, int workspace);
void listing_finish(struct file_listing *listing);

/* A file changed in the present tick of the clock that files are timed by,
 * which takes some milliseconds: if it changed again at once, no time would
 * tell. */
bool listing_is_fresh(const struct file_listing *listing);

/* All files, as struct workspace_file. List and names live in the
 * arena. */
struct list listing_all(const struct file_listing *listing,
                        struct arena *arena);
/* Only what is new, changed or deleted: by inode, size and times, so a file
 * that was written again with the same bytes has changed. Of listings that were
 * cut it tells only what is sure: a file that is not in the first may have been
 * there all the same, unless it has changed since; one that is not in the
 * second may still be there. *cut: there may be more changes. */
struct list listing_changes(const struct file_listing *before,
                            const struct file_listing *after,
                            struct arena *arena, bool *cut);

#endif
