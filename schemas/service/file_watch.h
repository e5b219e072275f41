/* file_watch.h - tells when files have changed, by looking at them from time to
 * time: that also sees what Kubernetes does, which swaps a symbolic link above
 * the file, and works over network file systems. */
#ifndef SCHEMAS_SERVICE_FILE_WATCH_H
#define SCHEMAS_SERVICE_FILE_WATCH_H

#include <uv.h>

struct file_watch;
typedef void file_watch_changed(void *owner);

/* changed is called from the loop, once none of the files has changed for
 * every_ms: whoever writes one may not be done. A file that is not there is
 * waited for. */
struct file_watch *file_watch_new(uv_loop_t *loop, uint64_t every_ms,
                                  file_watch_changed *changed, void *owner);
/* Adds a file, unless it is watched. Copies the path. */
void file_watch_add(struct file_watch *watch, const char *path);
void file_watch_free(struct file_watch *watch); /* accepts NULL */

#endif
