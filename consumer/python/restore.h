/* restore.h - puts back into a session what it lacks: files, variables, and the
 * effects of earlier cells.
 *
 * The files of the record come first, then the job's: each is fetched from
 * Redis and put into the workspace. The guest unpickles the variables. Then the
 * job's earlier cells run again; their output is not shown. */
#ifndef CONSUMER_PYTHON_RESTORE_H
#define CONSUMER_PYTHON_RESTORE_H

#include <stddef.h>

#include "schemas/message/machine.h"

struct python_session;

/* What is still due, and how far it has come. */
struct session_restore {
    bool files_due;
    size_t file_at;  /* the next file: of the record, then of the job */
    bool record_due; /* the record's files and variables are due, too */
    bool cells_due;
    size_t cell_at; /* the next of request.earlier */
};

/* Makes files, unless files_there, and earlier cells due, and goes on. Ends the
 * request when its call has lost its session too often. */
enum pace restore_begin(struct python_session *session, bool files_there);
/* The executor has made a fresh session. Decides what is put in from the
 * record, and adds to the notice what was not saved. */
void restore_from_record(struct python_session *session);
/* Makes all files due again: a cell has emptied the workspace. */
void restore_files(struct python_session *session);

machine_step restore_enter_fetch, restore_not_fetched;
machine_step restore_file_put;
machine_step restore_enter_variables, restore_no_variables;
machine_step restore_variables_landed;
machine_step restore_enter_cell, restore_cell_landed;

#endif
