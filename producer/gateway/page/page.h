/* page.h - the page: what a browser shows of the fleet and of a job.
 *
 *   GET  /              the page
 *   GET  /page/{file}   its styles and modules
 *   POST /v1/sign-in    {"key"}: puts a key into a cookie
 *   POST /v1/sign-out   takes it out
 *   GET  /v1/me         whose the key is, and what it may do
 *
 * The page asks the routes that every program may ask, so it shows nothing that
 * a page of somebody else could not show. */
#ifndef PRODUCER_GATEWAY_PAGE_H
#define PRODUCER_GATEWAY_PAGE_H

#include "producer/gateway/route.h"

extern const struct route_table page_routes;

/* One file of web/, as page_files.c has it, which CMake makes. */
struct page_file {
    const char *name; /* "overview.js" */
    const char *type;
    const char *etag; /* with its quotes; weak, as it is of both forms */
    const char *bytes, *gzip;
    size_t length, gzip_length;
};
extern const struct page_file page_files[]; /* ends in a name of NULL */

/* -------- sign_in.c */
void page_sign_in(struct api_request *request);
void page_sign_out(struct api_request *request);
void page_me(struct api_request *request);

#endif
