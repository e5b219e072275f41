/* open.h - opens a session at the executor, judges what is found there, and
 * puts in what it lacks: states AWAY, OPENING, DROPPING, CHECKING, and those of
 * files, variables and earlier cells.
 *
 * The executor may answer with a fresh session: then everything is put in. Or
 * it has one of that name already:
 *
 *   - A session with a name counts only if the record names it as the holder.
 *     Another one, left over or half made, is ended (DROPPING).
 *   - It may be half restored, by an attempt that died. So CHECKING asks
 *     whether it has seen the last of the earlier cells. If it has not,
 *     CHECKING asks for the first one, which tells whether the files were put
 *     in. Then all earlier cells are sent: those that it has seen do not run
 *     again.
 *
 * What is put in: the files of the record come first, then the job's; each is
 * fetched from Redis and put into the workspace. The guest unpickles the
 * variables. Then the job's earlier cells run again; their output is not shown.
 */
#ifndef CONSUMER_PYTHON_OPEN_H
#define CONSUMER_PYTHON_OPEN_H

#include <stddef.h>

#include "schemas/message/limits.h"
#include "schemas/message/machine.h"

struct python_session;

/* Where the session is, on this connection to the executor. */
enum presence {
    PRESENCE_NONE,  /* the session was not asked for */
    PRESENCE_ASKED, /* it was: the executor may have it */
    PRESENCE_OPEN,  /* the executor has it, and it is the right one */
};

struct session_opening {
    enum presence presence;
    char
        holder[MAX_NAME_BYTES + 1]; /* the executor's name for this interpreter,
                                       which the record is compared with */
    unsigned int drops;             /* how many others of the name were ended,
                                       for this request */
    bool check_first; /* CHECKING asks for the first earlier cell, not the last
                       */
};

/* What is still to be put in, and how far that has come. */
struct session_restore {
    bool files_due;
    size_t file_at;  /* the next file: of the record, then of the job */
    bool record_due; /* the record's files and variables are due, too */
    bool cells_due;
    size_t cell_at; /* the next of request.earlier */
};

/* Makes all files due again: a cell has emptied the workspace. */
void restore_files(struct python_session *session);

machine_step open_away;
machine_step open_enter, open_landed;
machine_step open_enter_drop, open_dropped;
machine_step open_enter_check, open_checked;

machine_step restore_enter_fetch, restore_not_fetched;
machine_step restore_file_put;
machine_step restore_enter_variables, restore_no_variables;
machine_step restore_variables_landed;
machine_step restore_enter_cell, restore_cell_landed;

#endif
