/* inbox.c - what the warden sends, sorted by who waits for it. */
#include "executor/guest/inbox.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "schemas/message/limits.h"

enum { LOOK_MS = 50 };

static struct {
    pthread_mutex_t lock;
    struct letter *letters;
    struct letter *reader; /* who reads for all; NULL: nobody */
    bool closed;
    struct err why;
} inbox = { .lock = PTHREAD_MUTEX_INITIALIZER };

void inbox_init(void)
{
    pthread_mutex_init(&inbox.lock, NULL);
    inbox.letters = inbox.reader = NULL;
    inbox.closed = false;
}

void inbox_expect(struct letter *letter, uint64_t nonce, uint64_t number)
{
    *letter = (struct letter){ .nonce = nonce, .number = number };
    sem_init(&letter->news, 0, 0);
    pthread_mutex_lock(&inbox.lock);
    letter->next = inbox.letters;
    inbox.letters = letter;
    pthread_mutex_unlock(&inbox.lock);
}

/* Somebody else reads, if anybody waits. Whoever was chosen before and leaves
 * without having read chooses in turn. */
static void give_way(const struct letter *letter)
{
    if (inbox.reader && inbox.reader != letter)
        return;
    inbox.reader = NULL;
    for (struct letter *other = inbox.letters; other; other = other->next)
        if (other->asleep) {
            sem_post(&other->news);
            return;
        }
}

void inbox_forget(struct letter *letter)
{
    struct letter **link = &inbox.letters;

    pthread_mutex_lock(&inbox.lock);
    while (*link && *link != letter)
        link = &(*link)->next;
    if (*link)
        *link = letter->next;
    give_way(letter);
    pthread_mutex_unlock(&inbox.lock);
    sem_destroy(&letter->news);
    passengers_close(&letter->passengers);
    arena_finish(&letter->arena);
    buf_finish(&letter->bytes);
}

static struct letter *addressee(const struct guest_frame *frame)
{
    struct letter *letter = inbox.letters;

    if (frame->type == GUEST_ANSWER)
        while (letter && (letter->number != frame->number ||
                          letter->nonce != frame->nonce))
            letter = letter->next;
    else
        while (letter && letter->number != 0)
            letter = letter->next;
    return letter && !letter->here ? letter : NULL;
}

/* One frame, to whoever it is for. An answer that nobody waits for any more
 * goes nowhere. */
static bool deliver_next(struct err *err)
{
    struct buf bytes;
    struct arena arena = { 0 };
    struct passengers passengers = { .count = 0 };
    struct guest_frame frame;

    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    bool got =
        channel_read(CHANNEL_FD, &frame, &bytes, &arena, &passengers, err);
    pthread_mutex_lock(&inbox.lock);
    struct letter *letter = got ? addressee(&frame) : NULL;
    if (letter) {
        letter->frame = frame;
        letter->bytes = bytes;
        letter->arena = arena;
        letter->passengers = passengers;
        letter->here = true;
        if (letter->asleep)
            sem_post(&letter->news);
    }
    pthread_mutex_unlock(&inbox.lock);
    if (letter)
        return true;
    passengers_close(&passengers);
    arena_finish(&arena);
    buf_finish(&bytes);
    return got;
}

static void close_inbox(const struct err *why)
{
    pthread_mutex_lock(&inbox.lock);
    inbox.closed = true;
    inbox.why = *why;
    for (struct letter *letter = inbox.letters; letter; letter = letter->next)
        if (letter->asleep)
            sem_post(&letter->news);
    pthread_mutex_unlock(&inbox.lock);
}

/* For all; a frame, or a signal. Waiting for a whole frame to come is not
 * interrupted: the warden has sent it. */
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

static void sleep_until_news(struct letter *letter)
{
    struct timespec until;

    if (!letter->watchful) {
        sem_wait(&letter->news);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    sem_clockwait(&letter->news, CLOCK_MONOTONIC, &until);
}

static enum inbox_news look_at(struct letter *letter, struct err *err)
{
    if (!letter->here && !inbox.closed)
        return INBOX_LOOK;
    give_way(letter);
    if (letter->here)
        return INBOX_HERE;
    *err = inbox.why;
    return INBOX_CLOSED;
}

enum inbox_news inbox_wait(struct letter *letter, struct err *err)
{
    pthread_mutex_lock(&inbox.lock);
    enum inbox_news news = look_at(letter, err);
    bool reads = !inbox.reader || inbox.reader == letter;
    if (news == INBOX_LOOK && reads)
        inbox.reader = letter;
    else if (news == INBOX_LOOK)
        letter->asleep = true;
    pthread_mutex_unlock(&inbox.lock);
    if (news != INBOX_LOOK)
        return news;
    if (reads)
        read_for_all(letter->watchful);
    else
        sleep_until_news(letter);
    pthread_mutex_lock(&inbox.lock);
    letter->asleep = false;
    news = look_at(letter, err);
    pthread_mutex_unlock(&inbox.lock);
    return news;
}

void inbox_end_cell(void)
{
    pthread_mutex_lock(&inbox.lock);
    for (struct letter *letter = inbox.letters; letter; letter = letter->next)
        if (letter->number != 0 && !letter->here) {
            letter->frame = (struct guest_frame){
                .type = GUEST_ANSWER,
                .error = { .name = VIEW("cell_ended"),
                           .value = VIEW("the cell that asked has ended") },
            };
            letter->here = true;
            if (letter->asleep)
                sem_post(&letter->news);
        }
    pthread_mutex_unlock(&inbox.lock);
}
