/* save.h - images and files of a job, saved into a folder of the user's.
 *
 * Their names come from hostile code: only base names are taken, nothing that
 * stands there is written over, no link is followed. Hidden characters and a
 * dash at the beginning become "_". A file with the same bytes is left as it
 * is; with other bytes, the new one becomes name~2.ext. */
#ifndef PRODUCER_CLI_SAVE_H
#define PRODUCER_CLI_SAVE_H

#include "producer/client/quern.h"
#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/limits.h"

struct saver {
    struct quern *quern;
    const char *dir; /* NULL: save nothing. Made when it is first needed. */
    size_t count;
    struct saved_file {
        char sha256[65];
        char name[MAX_FILE_NAME_BYTES + 1]; /* as the job calls it */
    } saved[MAX_FILES + MAX_IMAGES];
};

/* Once per name and bytes: again does nothing and leaves path empty. path:
 * where it is now. */
bool saver_save(struct saver *saver, struct view name, struct view sha256,
                struct buf *path, struct err *err);

#endif
