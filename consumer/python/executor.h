/* executor.h - the link to quern-executor: many sessions over one socket.
 *
 *   CLOSED --> CONNECTING --> GREETING --> READY --> BACKOFF --> CONNECTING
 *                  +--------------+---------------------^
 *
 * A request gets a number (ref) that its answers carry. When the link breaks,
 * every open request is answered once with NULL, the watchers are told, and
 * the link tries again after 50 ms, doubled up to 2 s. Callbacks come from the
 * loop, never from inside executor_ask(). */
#ifndef CONSUMER_EXECUTOR_H
#define CONSUMER_EXECUTOR_H

#include <uv.h>

#include "schemas/message/frame.h"

struct executor;

/* An answer: borrowed. Called for every frame that carries the ref, until
 * executor_dismiss(); frame is NULL when the link broke, which ends it too. */
typedef void executor_answer(void *owner, const struct frame *frame);

/* Told when the link becomes ready (true) or breaks (false). */
struct executor_watch {
    struct executor_watch *next, *previous;
    void (*on_change)(void *owner, bool ready);
    void *owner;
};

/* path "none": there is no executor, and none is looked for. */
#define EXECUTOR_NONE "none"
struct executor *executor_new(uv_loop_t *loop, const char *path);
void executor_open(struct executor *executor);
bool executor_is_ready(const struct executor *executor);
/* The settings say that there is none. */
bool executor_is_off(const struct executor *executor);

/* Why it is away, and since when. */
struct executor_absence {
    const char *word;  /* "refused", "not permitted", "absent", "lost", ... */
    const char *text;  /* the same as a sentence, which names the cause */
    uint64_t since_ms; /* since 1970 */
    uint64_t ms;       /* how long */
};
/* False: it is ready, or there is none. Borrowed until the loop turns. */
bool executor_is_away(const struct executor *executor,
                      struct executor_absence *absence);
/* Called when it becomes ready, is lost, and when it is away for another
 * reason than before. */
void executor_notify(struct executor *executor, void (*on_state)(void *owner),
                     void *owner);
/* What the executor said of its walls; "" before the first contact. */
const char *executor_isolation(const struct executor *executor);
/* What code may import there, with commas, as it last said; "" before that. */
const char *executor_libraries(const struct executor *executor);
/* Answers nobody any more. */
void executor_free(struct executor *executor);

void executor_watch(struct executor *executor, struct executor_watch *watch);
void executor_unwatch(struct executor *executor, struct executor_watch *watch);

/* Sends the frame under a number of its own; 0: the link is not ready, or the
 * frame is too large. answer may be NULL: then nothing is expected. */
uint64_t executor_ask(struct executor *executor, struct frame *frame,
                      executor_answer *answer, void *owner);
/* One more frame of the same request (the pieces of a file). */
bool executor_add(struct executor *executor, struct frame *frame, uint64_t ref);
/* No answer to ref is wanted any more. 0 and old numbers are ignored. */
void executor_dismiss(struct executor *executor, uint64_t ref);

#endif
