/* session.h - the record of a session that outlives its jobs and its host.
 *
 * Redis keeps it (redis/names.h). Consumers write it by the session_save
 * transition, when a job of the session ends and when an executor takes the
 * session up. What an executor has in memory under the session's name is this
 * session only when holder names it. Otherwise the session is made again from
 * packages, files and picture, and the next cell is told what is missing. */
#ifndef SCHEMAS_MESSAGE_SESSION_H
#define SCHEMAS_MESSAGE_SESSION_H

#include "schemas/message/field.h"

/* What became of a session's variables and files: as they were; variables as
 * before a cell that was killed; made again from the record; gone. */
enum cell_state { CELL_KEPT, CELL_ROLLED_BACK, CELL_RESTORED, CELL_LOST };
extern const char *const cell_state_names[]; /* kept, rolled_back, ... */

/* A file of the workspace. */
struct session_file {
    struct view name; /* its path there, any bytes */
    struct view blob; /* SHA-256; empty: see note */
    uint64_t bytes;
    struct view note; /* why there is no blob */
    bool given;       /* it came with a job, and code has not changed it */
};
extern const struct schema schema_session_file;

struct session_record {
    struct view name;
    struct view tenant;
    struct view holder;  /* the executor's session that has it in memory, as
                            FRAME_OPENED says; empty: none, as for a fork that
                            was not used yet */
    uint64_t generation; /* raised by every write */
    bool closed;         /* it is over; a job of that name begins a new one */
    struct view picture; /* SHA-256 of its variables, pickled; empty: see
                            unsaved */
    uint64_t picture_bytes;
    struct view unsaved;  /* why there is no picture */
    struct list missing;  /* of struct pair: variables that are not in the
                             picture, each with the reason */
    struct list files;    /* of struct session_file */
    struct list packages; /* of struct view: "name==version", installed */
    struct view history;  /* SHA-256 of its conversation: history.h */
    uint64_t history_bytes;
    uint64_t exchanges;              /* how many the history has */
    uint64_t cells;                  /* that have run in it */
    struct view job;                 /* the last one that saved it */
    uint64_t created_ms, updated_ms; /* since 1970 */
    int state;                       /* enum cell_state that the next cell is
                                        told */
    struct view note;                /* the reason, also for the next cell */
};
extern const struct schema schema_session_record;

#endif
