/* walls.h - walls that quern-reader puts around itself before it reads hostile
 * bytes. Afterwards it can compute and answer, and nothing else.
 *
 * Landlock: no files but those of libraries (iconv's converters), no TCP, no
 * signals or abstract sockets to other processes, as far as the kernel knows
 * these rules. seccomp: only the system calls that reading a document needs,
 * all others fail with EPERM. Both last as long as the process. */
#ifndef CONSUMER_READER_WALLS_H
#define CONSUMER_READER_WALLS_H

#include "schemas/message/err.h"

/* Landlock. *closed: files are closed; false when the kernel has no Landlock,
 * which is no error. Error: no_walls. */
bool walls_files(bool *closed, struct err *err);

/* seccomp. files: opening files is allowed, because Landlock closes all but
 * those of libraries. Without Landlock no file may be opened. Error: no_walls.
 */
bool walls_calls(bool files, struct err *err);

#endif
