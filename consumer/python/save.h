/* save.h - saves a session with a name in Redis: variables, files of the
 * workspace, and last the record, which names their blobs. States
 * SAVING_VARIABLES, LISTING_FILES, SAVING_FILES, WRITING_RECORD.
 *
 * The record comes last, so it never names a blob that was not written. What is
 * too large or cannot be saved is named in the record. */
#ifndef CONSUMER_PYTHON_SAVE_H
#define CONSUMER_PYTHON_SAVE_H

#include "schemas/message/machine.h"

struct session_draft;

struct session_saving {
    unsigned int saves; /* so far: makes the name of each call unique */
    struct session_draft *draft; /* the record in the making; NULL: none yet */
};

void save_finish(struct session_saving *saving);

machine_step save_enter_variables, save_variables_landed;
machine_step save_enter_list, save_listed;
machine_step save_enter_files, save_file_read;
machine_step save_enter_record, save_record_written;

#endif
