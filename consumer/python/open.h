/* open.h - opens a session at the executor, and judges what is found there:
 * states AWAY, OPENING, DROPPING, CHECKING.
 *
 * The executor may answer with a fresh session: then everything is put in. Or
 * it has one of that name already:
 *
 *   - A session with a name counts only if the record names it as the holder.
 *     Another one, left over or half made, is ended (DROPPING).
 *   - It may be half restored, by an attempt that died. So CHECKING asks
 * whether it has seen the last of the earlier cells. If it has not, CHECKING
 * asks for the first one, which tells whether the files were put in. Then all
 * earlier cells are sent: those that it has seen do not run again. */
#ifndef CONSUMER_PYTHON_OPEN_H
#define CONSUMER_PYTHON_OPEN_H

#include "schemas/message/limits.h"
#include "schemas/message/machine.h"

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

machine_step open_away;
machine_step open_enter, open_landed;
machine_step open_enter_drop, open_dropped;
machine_step open_enter_check, open_checked;

#endif
