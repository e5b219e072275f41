/* multipart.h - reads multipart/form-data as it comes, in pieces of any size.
 *
 *   --B CRLF head CRLF CRLF data CRLF --B CRLF head ... CRLF --B-- [CRLF]
 *
 * Strict, as clients write it (RFC 7578): nothing before the first delimiter
 * and nothing behind the last one, each part has one Content-Disposition of
 * form-data with a name, lines end by CRLF. The data of a part is given as it
 * comes and never kept: memory is one part's head. */
#ifndef PRODUCER_GATEWAY_MULTIPART_H
#define PRODUCER_GATEWAY_MULTIPART_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

enum {
    MULTIPART_MAX_BOUNDARY = 70, /* bytes, as RFC 2046 has it */
    MULTIPART_MAX_HEAD = 8 << 10,
    MULTIPART_MAX_PARTS = 100,
};

/* What is borrowed lives for the call. A file's name is any UTF-8 without
 * control characters: it may have slashes. */
struct multipart_part {
    struct view name, file, type; /* type: "" when it is absent */
    bool has_file; /* there is a file's name, perhaps an empty one */
};

/* They must not feed or finish the reader. */
struct multipart_events {
    void (*on_part)(void *owner, const struct multipart_part *part);
    void (*on_data)(void *owner, struct view piece);
    void (*on_part_end)(void *owner);
};

struct multipart {
    const struct multipart_events *events;
    void *owner;
    char delimiter[4 + MULTIPART_MAX_BOUNDARY]; /* CR, LF, "--", boundary */
    size_t delimiter_len;
    size_t matched; /* bytes of it, or of what comes behind it */
    int state;
    unsigned int parts;
    struct buf head;
};

/* type: the value of Content-Type, with its boundary. False with err when it is
 * not multipart/form-data, or has no good boundary. Borrows events. */
bool multipart_init(struct multipart *multipart, struct view type,
                    const struct multipart_events *events, void *owner,
                    struct err *err);
void multipart_finish(struct multipart *multipart); /* accepts a zeroed one */

/* False with err: malformed; feed it no more. A part that has begun then has no
 * on_part_end, so its data must not be kept. */
bool multipart_feed(struct multipart *multipart, struct view bytes,
                    struct err *err);
/* The body has ended; false with err when the last delimiter is missing. */
bool multipart_end(const struct multipart *multipart, struct err *err);

#endif
