/* save.h - all of a session with a name goes into Redis: variables, files of
 * the workspace, and then the record, which names their blobs.
 *
 * What is too large or cannot be saved is named in the record. */
#ifndef CONSUMER_PYTHON_SAVE_H
#define CONSUMER_PYTHON_SAVE_H

#include "schemas/message/machine.h"

struct session_draft;

struct session_saving {
    unsigned int saves; /* that the executor was asked for */
    struct session_draft
        *draft; /* the record that comes of it; NULL: none yet */
};

void save_finish(struct session_saving *saving);

machine_step save_enter_variables, save_variables_landed;
machine_step save_enter_list, save_listed;
machine_step save_enter_files, save_file_read;
machine_step save_enter_record, save_record_written;

#endif
