/* inbox.c - what the warden sends, sorted by who waits for it.
 *
 * The lock is held for moments only, never while somebody reads or sleeps. */
#include "executor/guest/inbox.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "schemas/message/limits.h"

enum { LOOK_MS = 50 }; /* between two looks for signals */

static struct {
    pthread_mutex_t lock;
    struct inbox_waiter *waiters;
    struct inbox_waiter *reader; /* who reads for all; NULL: nobody */
    bool closed;
    struct err why;
} inbox = { .lock = PTHREAD_MUTEX_INITIALIZER };

void inbox_init(void)
{
    pthread_mutex_init(&inbox.lock, NULL);
    inbox.waiters = inbox.reader = NULL;
    inbox.closed = false;
}

void inbox_expect(struct inbox_waiter *waiter, uint64_t nonce, uint64_t number)
{
    *waiter = (struct inbox_waiter){ .nonce = nonce, .number = number };
    sem_init(&waiter->news, 0, 0);
    pthread_mutex_lock(&inbox.lock);
    waiter->next = inbox.waiters;
    inbox.waiters = waiter;
    pthread_mutex_unlock(&inbox.lock);
}

/* The waiter leaves, or has what it waited for: if it was the reader, or nobody
 * is, one that sleeps is woken to read. Without this all others would sleep for
 * ever. */
static void give_way(const struct inbox_waiter *waiter)
{
    if (inbox.reader && inbox.reader != waiter)
        return;
    inbox.reader = NULL;
    for (struct inbox_waiter *other = inbox.waiters; other; other = other->next)
        if (other->asleep) {
            sem_post(&other->news);
            return;
        }
}

void inbox_forget(struct inbox_waiter *waiter)
{
    struct inbox_waiter **link = &inbox.waiters;

    pthread_mutex_lock(&inbox.lock);
    while (*link && *link != waiter)
        link = &(*link)->next;
    if (*link)
        *link = waiter->next;
    give_way(waiter);
    pthread_mutex_unlock(&inbox.lock);
    sem_destroy(&waiter->news);
    frame_fds_close(&waiter->frame_fds);
    arena_finish(&waiter->arena);
    buf_finish(&waiter->bytes);
}

/* NULL: nobody waits for it, or it is there twice. */
static struct inbox_waiter *addressee(const struct guest_frame *frame)
{
    struct inbox_waiter *waiter = inbox.waiters;

    if (frame->type == GUEST_ANSWER)
        while (waiter && (waiter->number != frame->number ||
                          waiter->nonce != frame->nonce))
            waiter = waiter->next;
    else
        while (waiter && waiter->number != 0)
            waiter = waiter->next;
    return waiter && !waiter->here ? waiter : NULL;
}

/* Reads one frame and hands it to its waiter, with the memory of its views. An
 * answer that nobody waits for any more goes nowhere. */
static bool deliver_next(struct err *err)
{
    struct buf bytes;
    struct arena arena = { 0 };
    struct frame_fds frame_fds = { .count = 0 };
    struct guest_frame frame;

    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    bool got =
        channel_read(CHANNEL_FD, &frame, &bytes, &arena, &frame_fds, err);
    pthread_mutex_lock(&inbox.lock);
    struct inbox_waiter *waiter = got ? addressee(&frame) : NULL;
    if (waiter) {
        waiter->frame = frame;
        waiter->bytes = bytes;
        waiter->arena = arena;
        waiter->frame_fds = frame_fds;
        waiter->here = true;
        if (waiter->asleep)
            sem_post(&waiter->news);
    }
    pthread_mutex_unlock(&inbox.lock);
    if (waiter)
        return true;
    frame_fds_close(&frame_fds);
    arena_finish(&arena);
    buf_finish(&bytes);
    return got;
}

static void close_inbox(const struct err *why)
{
    pthread_mutex_lock(&inbox.lock);
    inbox.closed = true;
    inbox.why = *why;
    for (struct inbox_waiter *waiter = inbox.waiters; waiter;
         waiter = waiter->next)
        if (waiter->asleep)
            sem_post(&waiter->news);
    pthread_mutex_unlock(&inbox.lock);
}

/* Until a frame or a signal comes. Once a frame has begun, the rest is waited
 * for without looking for signals: the warden has sent it. */
static void read_for_all(bool watchful)
{
    struct pollfd channel = { .fd = CHANNEL_FD, .events = POLLIN };
    struct err err = { .kind = ERR_NONE };

    int ready = poll(&channel, 1, watchful ? LOOK_MS : -1);
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return;
    if (!deliver_next(&err))
        close_inbox(&err);
}

static void sleep_until_news(struct inbox_waiter *waiter)
{
    struct timespec until;

    if (!waiter->watchful) {
        sem_wait(&waiter->news);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    sem_clockwait(&waiter->news, CLOCK_MONOTONIC, &until);
}

static enum inbox_news look_at(struct inbox_waiter *waiter, struct err *err)
{
    if (!waiter->here && !inbox.closed)
        return INBOX_LOOK;
    give_way(waiter);
    if (waiter->here)
        return INBOX_HERE;
    *err = inbox.why;
    return INBOX_CLOSED;
}

enum inbox_news inbox_wait(struct inbox_waiter *waiter, struct err *err)
{
    pthread_mutex_lock(&inbox.lock);
    enum inbox_news news = look_at(waiter, err);
    bool reads = !inbox.reader || inbox.reader == waiter;
    if (news == INBOX_LOOK && reads)
        inbox.reader = waiter;
    else if (news == INBOX_LOOK)
        waiter->asleep = true;
    pthread_mutex_unlock(&inbox.lock);
    if (news != INBOX_LOOK)
        return news;
    if (reads)
        read_for_all(waiter->watchful);
    else
        sleep_until_news(waiter);
    pthread_mutex_lock(&inbox.lock);
    waiter->asleep = false;
    news = look_at(waiter, err);
    pthread_mutex_unlock(&inbox.lock);
    return news;
}

void inbox_end_cell(void)
{
    pthread_mutex_lock(&inbox.lock);
    for (struct inbox_waiter *waiter = inbox.waiters; waiter;
         waiter = waiter->next)
        if (waiter->number != 0 && !waiter->here) {
            waiter->frame = (struct guest_frame){
                .type = GUEST_ANSWER,
                .error = { .name = VIEW("cell_ended"),
                           .value = VIEW("the cell that asked has ended") },
            };
            waiter->here = true;
            if (waiter->asleep)
                sem_post(&waiter->news);
        }
    pthread_mutex_unlock(&inbox.lock);
}
