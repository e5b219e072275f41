/* walls.h - what reads hostile bytes may do from now on: compute, and answer.
 *
 * Landlock: no file but those that libraries bring (converters of character
 * sets), no TCP, no signal and no abstract socket outside, as far as the kernel
 * knows of them. seccomp: the system calls that reading a document takes, all
 * others fail with EPERM. For good, for this process and what it becomes. */
#ifndef CONSUMER_READER_WALLS_H
#define CONSUMER_READER_WALLS_H

#include "schemas/message/err.h"

/* closed: the kernel has no Landlock, nothing was done. Error: no_walls. */
bool walls_files(bool *closed, struct err *err);

/* files: some may be opened, Landlock keeps the others. Error: no_walls. */
bool walls_calls(bool files, struct err *err);

#endif
