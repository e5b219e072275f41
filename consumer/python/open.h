/* open.h - a session is opened at the executor, and what is found there is
 * judged.
 *
 * The executor may answer with a fresh session: then all is put in. Or it has
 * one of that name:
 *
 *   - With a name, it is the session only if the record names it as the holder.
 *     Another one (it stayed behind, or is half made) is ended.
 *   - It may be half restored, by an attempt that died over it. So CHECKING
 *     asks whether it has seen the last of the earlier cells. If it has not, it
 *     asks for the first one, which tells whether the files were put in. Then
 *     all earlier cells are sent: those that it has seen do not run again. */
#ifndef CONSUMER_PYTHON_OPEN_H
#define CONSUMER_PYTHON_OPEN_H

#include "schemas/message/limits.h"
#include "schemas/message/machine.h"

/* On this connection to the executor. */
enum presence {
    PRESENCE_NONE,  /* the session was not asked for */
    PRESENCE_ASKED, /* it was: the executor may have it */
    PRESENCE_OPEN,  /* the executor has it, and it is the right one */
};

struct session_opening {
    enum presence presence;
    char holder[MAX_NAME_BYTES + 1]; /* what the executor calls this one */
    unsigned int drops;              /* of others of that name */
    bool check_first; /* CHECKING asks for the first earlier cell */
};

machine_step open_away;
machine_step open_enter, open_landed;
machine_step open_enter_drop, open_dropped;
machine_step open_enter_check, open_checked;

#endif
