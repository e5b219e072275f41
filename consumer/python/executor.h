/* executor.h - the connection to quern-executor: many sessions over one socket.
 *
 *   CLOSED --> CONNECTING --> GREETING --> READY --> BACKOFF --> CONNECTING
 *                  +--------------+---------------------^
 *
 * A request gets a number (ref), which its answers carry. When the connection
 * breaks, every open request is answered once with NULL, and then the watchers
 * are told. The consumer connects again after 50 ms, then after twice as long
 * each time, up to 500 ms. Callbacks come from the loop, never from inside
 * executor_ask(). A consumer has one of these. */
#ifndef CONSUMER_PYTHON_EXECUTOR_H
#define CONSUMER_PYTHON_EXECUTOR_H

#include <uv.h>

#include "schemas/message/frame.h"

struct executor;

/* Called for every frame that carries the ref, until executor_dismiss(). The
 * frame is borrowed; NULL: the connection broke, and this is the last call. */
typedef void executor_answer(void *owner, const struct frame *frame);

/* on_change is called when the connection is ready (true) or breaks (false). It
 * may unwatch itself, but no other watch. Owned by the watcher, which must
 * unwatch it before it frees it. */
struct executor_watch {
    struct executor_watch *next, *previous;
    void (*on_change)(void *owner, bool ready);
    void *owner;
};

/* path: of the executor's socket. EXECUTOR_NONE: there is none, and
 * executor_open() does nothing. */
#define EXECUTOR_NONE "none"
struct executor *executor_new(uv_loop_t *loop, const char *path);
/* Begins to connect, and goes on for ever. */
void executor_open(struct executor *executor);
bool executor_is_ready(const struct executor *executor);
/* Whether the path is EXECUTOR_NONE. */
bool executor_is_off(const struct executor *executor);

/* Why the executor is away, and since when. */
struct executor_absence {
    const char *word;  /* "refused", "not permitted", "absent", "lost", ... */
    const char *text;  /* the same as a sentence, which names the cause */
    uint64_t since_ms; /* since 1970 */
    uint64_t ms;       /* how long */
};
/* Fills absence, whose texts are borrowed until the loop goes on. False: it is
 * not away: ready, not tried yet, or off. */
bool executor_is_away(const struct executor *executor,
                      struct executor_absence *absence);
/* on_state is called when the executor becomes ready, when it is lost, and when
 * the reason of its absence changes. */
void executor_notify(struct executor *executor, void (*on_state)(void *owner),
                     void *owner);
/* The executor's walls, in its own words; "" before the first contact. */
const char *executor_isolation(const struct executor *executor);
/* What code may import there, separated by commas; "" before the first contact.
 */
const char *executor_libraries(const struct executor *executor);
/* It is ready, and answers FRAME_NUMBERS: older executors do not. */
bool executor_counts(const struct executor *executor);
/* Accepts NULL. Nothing is called any more, not even open requests. */
void executor_free(struct executor *executor);

void executor_watch(struct executor *executor, struct executor_watch *watch);
void executor_unwatch(struct executor *executor, struct executor_watch *watch);

/* Sets the frame's ref, sends the frame and returns the ref. Copies the frame.
 * 0: nothing was sent, because the connection is not ready or the frame is too
 * large. answer NULL: answers are dropped. */
uint64_t executor_ask(struct executor *executor, struct frame *frame,
                      executor_answer *answer, void *owner);
/* Sends one more frame of the same request: a piece of a file. */
bool executor_add(struct executor *executor, struct frame *frame, uint64_t ref);
/* No answer to ref comes any more. 0 and refs of other requests are ignored. */
void executor_dismiss(struct executor *executor, uint64_t ref);

#endif
