/* librechat_session.h - the files of a session, as LibreChat calls it: what one
 * upload brought, or what one run has written.
 *
 * A run that failed has no files; a file that a run has not changed is not
 * among its files. Where code has saved no image, those that it has displayed
 * (pyplot.show()) are files, too. */
#ifndef PRODUCER_GATEWAY_PLUGS_LIBRECHAT_SESSION_H
#define PRODUCER_GATEWAY_PLUGS_LIBRECHAT_SESSION_H

#include "producer/gateway/api_request.h"
#include "producer/gateway/plugs/librechat_ids.h"
#include "schemas/message/limits.h"

struct librechat_file {
    struct librechat_id id;
    struct view path; /* in /mnt/data */
    struct view mime, blob;
    uint64_t bytes;
    uint64_t changed_at; /* ms since 1970 */
};

struct librechat_session;
typedef void librechat_session_done(struct api_request *request,
                                    const struct librechat_session *session);

/* What the state of the request begins with. */
struct librechat_session {
    bool is_run;
    char job[ID_LEN + 1];       /* of a run */
    char record[FILE_ID_BYTES]; /* of an upload: that of file number 0 */
    unsigned int partition;
    struct librechat_file files[MAX_FILES];
    size_t count; /* 0: the tenant has no such session */
    /* Of librechat_session.c. */
    uint64_t ended_at;
    librechat_session_done *done;
};

/* Calls done, within which the files can be looked at. id: may be any text. */
void librechat_session_open(struct api_request *request, struct view id,
                            librechat_session_done *done);

/* NULL: it has no such file. */
const struct librechat_file *
librechat_session_find(const struct librechat_session *session,
                       struct view file);

/* The files of a run whose result is this, at most so many; they borrow from
 * it. */
size_t librechat_files_of_result(const json_t *result,
                                 struct librechat_file *files, size_t most);

#endif
