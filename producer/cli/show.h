/* show.h - prints jobs that have ended and their results, records of sessions,
 * saved files: for people, or as lines of JSON. */
#ifndef PRODUCER_CLI_SHOW_H
#define PRODUCER_CLI_SHOW_H

#include <jansson.h>

#include "producer/cli/cli.h"
#include "producer/cli/save.h"
#include "producer/client/operate_json.h"
#include "schemas/message/result.h"

/* Prints the object as one line on stdout; takes the reference. */
void json_line(json_t *object);

/* -------- show.c */

/* What show_result() prints: what was not shown while the job ran. */
enum { SHOW_OUTPUT = 1, SHOW_ANSWER = 2 };

/* Answer and cells on stdout, errors and a summary on stderr. */
void show_result(struct app *app, const struct result *result,
                 unsigned int what);

/* The text of something that was displayed, on stdout. */
void show_display(struct app *app, const struct display *display);

/* show_session.c: what is kept of a session; of it, what could not be; files of
 * a workspace (a list of struct session_file). */
void show_record(struct app *app, const struct session_record *session);
void show_missing(struct pane *out, const struct session_record *session);
void show_workspace(struct pane *out, const struct list *list);
/* 3 min, since it was used. */
const char *session_age(const struct session_record *session);

/* show.c: saver_save(). False: it was saved before, there is no folder, or it
 * could not be saved: then that is printed, and app->unsaved is set. path:
 * where the file is now. */
bool app_save(struct app *app, struct saver *saver, struct view name,
              struct view sha256, struct buf *path);

/* Saves an image or file and says where; what could not be saved is said too.
 */
void show_image(struct app *app, struct saver *saver,
                const struct image_ref *image);
void show_file(struct app *app, struct saver *saver,
               const struct file_ref *file);

#endif
