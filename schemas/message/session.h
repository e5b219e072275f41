/* session.h - what is known of a session that outlives its jobs, and its host.
 *
 * Kept in Redis (redis/names.h) and written by the session_save transition when
 * a job of the session ends, and when an executor takes the session up. What an
 * executor has in memory under the session's name is the session only when it
 * is the one that holder names; else the session is made again, of packages,
 * files and picture, and what could not be is told to the next cell. */
#ifndef SCHEMAS_MESSAGE_SESSION_H
#define SCHEMAS_MESSAGE_SESSION_H

#include "schemas/message/field.h"

/* What became of a session's variables and files, always the truth. */
enum cell_state { CELL_KEPT, CELL_ROLLED_BACK, CELL_RESTORED, CELL_LOST };
extern const char *const cell_state_names[]; /* kept, rolled_back, ... */

/* A file of the workspace. */
struct session_file {
    struct view name; /* its path there, any bytes */
    struct view blob; /* SHA-256; empty: see note */
    uint64_t bytes;
    struct view note; /* why there is no blob */
};
extern const struct schema schema_session_file;

struct session_record {
    struct view name;
    struct view tenant;
    struct view holder;  /* who has it in memory: FRAME_OPENED's; empty: nobody,
                            as of a fork that was not used yet */
    uint64_t generation; /* raised by every write */
    bool closed;         /* it is over; a job of that name begins a new one */
    struct view picture; /* SHA-256 of its names, pickled; empty: see unsaved */
    uint64_t picture_bytes;
    struct view unsaved;  /* why there is no picture */
    struct list missing;  /* of struct pair: names that are not in it, why */
    struct list files;    /* of struct session_file */
    struct list packages; /* of struct view: "name==version", installed */
    struct view history;  /* SHA-256 of what was said in it: history.h */
    uint64_t history_bytes;
    uint64_t exchanges;              /* in there: questions and answers */
    uint64_t cells;                  /* that have run in it */
    struct view job;                 /* the last one that saved it */
    uint64_t created_ms, updated_ms; /* since 1970 */
    int state;                       /* enum cell_state, to be told ... */
    struct view note;                /* ... to the next cell, and why */
};
extern const struct schema schema_session_record;

#endif
