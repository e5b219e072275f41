/* restore.h - what is put back into a session: files, variables, and what
 * earlier cells did.
 *
 * Files are those of the record first, then the job's: each is fetched from
 * Redis and put into the workspace. Variables are unpickled by the guest. Then
 * the job's earlier cells run again; nobody sees their output. */
#ifndef CONSUMER_PYTHON_RESTORE_H
#define CONSUMER_PYTHON_RESTORE_H

#include <stddef.h>

#include "schemas/message/machine.h"

struct python_session;

/* What is still due, and how far it is. */
struct session_restore {
    bool files_due;
    size_t file_at;
    bool record_due; /* the record's files and variables are part of it */
    bool cells_due;
    size_t cell_at;
};

/* A fresh session lacks all that the session had before: files, unless
 * files_there, and earlier cells are due. */
enum pace restore_begin(struct python_session *session, bool files_there);
/* The executor has made a fresh session in place of the record's: decides what
 * the record has to put in, and tells the next cell what was not saved. */
void restore_from_record(struct python_session *session);
/* All files are due once more: a cell has emptied the workspace. */
void restore_files(struct python_session *session);

machine_step restore_enter_fetch, restore_not_fetched;
machine_step restore_file_put;
machine_step restore_enter_variables, restore_no_variables;
machine_step restore_variables_landed;
machine_step restore_enter_cell, restore_cell_landed;

#endif
