/* librechat_ids.h - ids as LibreChat has them: 21 of A-Z a-z 0-9 _ -. It takes
 * no others when a user downloads a file.
 *
 *   session of a run      the id of its job: 122 bits of it, and 4 that are
 *                         always the same
 *   session of an upload  "file_", and 16 digits for the id that the record of
 *                         its file number 0 would have
 *   file of a run         126 bits of the SHA-256 of its path
 *   file of an upload     as its session, for the id of its record
 *
 * The records of one upload have ids that differ in the last two digits alone:
 * the number of the file, from 1. So nothing but the records is kept. */
#ifndef PRODUCER_GATEWAY_PLUGS_LIBRECHAT_IDS_H
#define PRODUCER_GATEWAY_PLUGS_LIBRECHAT_IDS_H

#include "schemas/message/id.h"
#include "schemas/redis/file.h"

struct librechat_id {
    char text[22];
};

/* job: a UUIDv7. */
struct librechat_id librechat_id_of_job(struct view job);
/* False: it is the session of no run. */
bool librechat_job_of_id(struct view id, char job[ID_LEN + 1]);

struct librechat_id librechat_id_of_record(struct view record);
/* False: it is the session of no upload, and no file of one. */
bool librechat_record_of_id(struct view id, char record[FILE_ID_BYTES]);

struct librechat_id librechat_id_of_path(struct view path);

/* The id of the record of file number 1 to 255 of an upload, 0 being its
 * session. */
void librechat_record_number(char record[FILE_ID_BYTES], unsigned int number);
/* Whether both are of the same upload. */
bool librechat_same_upload(struct view record, struct view other);

#endif
