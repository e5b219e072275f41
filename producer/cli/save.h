/* save.h - saves images and files of a job into a folder of the user's.
 *
 * Their names come from hostile code. So only base names are taken, no file
 * that is there is written over, and no link is followed. Hidden characters,
 * and a dash at the beginning, become "_". When a file of the name is there
 * with the same bytes, nothing is written; with other bytes, the new file is
 * called name~2.ext. */
#ifndef PRODUCER_CLI_SAVE_H
#define PRODUCER_CLI_SAVE_H

#include "producer/client/quern.h"
#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/limits.h"

/* For one job: remembers what it has saved, since the same image comes as an
 * event and in the result. Large: on the heap. */
struct saver {
    struct quern *quern;
    const char *dir; /* NULL: save nothing. Made when it is first needed. */
    size_t count;    /* of saved */
    struct saved_file {
        char sha256[65];
        char name[MAX_FILE_NAME_BYTES + 1]; /* as the job calls it */
    } saved[MAX_FILES + MAX_IMAGES];
};

/* Fetches the blob and saves it under the name, once for each name and bytes: a
 * second time it does nothing and leaves path empty. Appends to path where the
 * file is now. Errors: not_saved, bad_setting (the folder), bad_field (the
 * name), missing_blob and others of quern_blob_get(). */
bool saver_save(struct saver *saver, struct view name, struct view sha256,
                struct buf *path, struct err *err);

#endif
