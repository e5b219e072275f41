/* file_link.h - links to files of jobs, which open without a key.
 *
 *   <base>/v1/links/<token>
 *
 * The base is --public-url, or what the client itself has called this gateway.
 * The token says which file, and until when: link_token.h. */
#ifndef PRODUCER_GATEWAY_FILE_LINK_H
#define PRODUCER_GATEWAY_FILE_LINK_H

#include "producer/gateway/api_request.h"
#include "producer/gateway/link_token.h"

enum {
    LINK_BASE_BYTES = 288, /* a name of DNS, with a port and more */
    LINK_URL_BYTES = LINK_BASE_BYTES + LINK_TOKEN_BYTES + 16,
};

/* From the request's scheme and Host, or --public-url. "" (links are then
 * relative) of a request without Host, or with a longer one than any name. */
void file_link_base(const struct api_request *request,
                    char base[LINK_BASE_BYTES]);

/* From now on for --link-ttl. The secret must have been loaded
 * (link_secret.h). False: no link can be made to such a name. */
bool file_link_write(const struct gateway *gateway, const char *base,
                     struct view job, enum link_kind kind, struct view name,
                     char url[LINK_URL_BYTES]);

/* What a token names, now; false: it opens nothing. */
bool file_link_read(const struct gateway *gateway, struct view token,
                    struct file_link *target);
/* How long it still does; in s. */
uint64_t file_link_seconds(const struct file_link *target);

/* 404, in the same words for every link that opens nothing, whatever the
 * reason. */
void file_link_refuse(struct api_request *request);

#endif
