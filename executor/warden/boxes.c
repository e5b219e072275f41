/* boxes.c - boxes, made ahead. */
#include "executor/warden/boxes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/warden/folder.h"
#include "executor/warden/maker.h"
#include "executor/warden/network.h"
#include "executor/warden/orphans.h"
#include "schemas/message/machine.h"

enum {
    READY_BOXES = 2,
    MAX_STARTING = 4, /* at once */
    START_MS = 5000,  /* from the order to BOX_UP */
    RETRY_MS = 200,   /* after a failure */
    REFILL_MS = 25,   /* after one was taken */
};

enum box_state { STARTING, READY, LENT, DYING };

static const struct machine_state states[] = {
    [STARTING] = { .name = "starting", .next = TO(READY) | TO(DYING) },
    [READY] = { .name = "ready", .next = TO(LENT) | TO(DYING) },
    [LENT] = { .name = "lent", .next = TO(DYING) },
    [DYING] = { .name = "dying" },
};
static const struct machine_kind kind = {
    .name = "a box",
    .states = states,
    .count = sizeof(states) / sizeof(states[0]),
};

struct box {
    struct box *next; /* in boxes->own, until LENT */
    uint64_t disk_bytes;
    struct boxes *boxes;
    struct machine machine;
    struct watch *channel;       /* to its init; NULL: a folder */
    struct watch *init;          /* pidfd: NULL until BOX_UP */
    struct loop_alarm *deadline; /* of STARTING; later: to tell of a sweep that
                                    nobody answers */
    int fds[BOX_FDS];            /* -1: it has none such */
    struct cgroup *cgroup;
    uid_t user;            /* of the pool; 0: the warden's */
    struct box_door *door; /* its way out, if it has one */
    char *folder;          /* --insecure: all there is */
    char *packages;        /* a folder that the warden fills; NULL: none */
    bool lost;             /* init is gone: its channel was closed */
    size_t sweeps;         /* asked for and not answered yet */
    struct box_events events;
};

struct boxes {
    uv_loop_t *loop;
    const struct executor_settings *settings;
    struct cgroups *cgroups;
    struct box *own; /* starting or ready: few */
    struct packages *packages;
    struct users *users;
    struct network *network; /* NULL: boxes have none */
    struct box_request *requests;
    struct loop_alarm *retry;
    struct maker *maker;
    struct orphans *orphans;
    bool resting; /* after a failure, until retry */
    bool have_proc;
    unsigned int host_parts; /* enum box_host_part, of the last one made */
    size_t dying;            /* killed, but not dead yet */
    bool freed;              /* goes with the last of them */
};

static void refill(struct boxes *boxes);

static uint64_t usual_bytes(const struct boxes *boxes)
{
    return boxes->settings->limits.disk_bytes;
}

static void unlink_box(struct box *box)
{
    for (struct box **link = &box->boxes->own; *link; link = &(*link)->next)
        if (*link == box) {
            *link = box->next;
            return;
        }
}

static void box_enter(struct box *box, enum box_state next)
{
    if (next == LENT || (next == DYING && box->machine.state != LENT))
        unlink_box(box);
    machine_go(&box->machine, next);
}

/* ------------------------------------------------------------- its death */

static void free_when_done(struct boxes *boxes)
{
    if (boxes->freed && boxes->dying == 0)
        free(boxes);
}

/* The box is empty: the kernel has killed all in it before init ended. Only now
 * its cgroup and its user id are free. If quern-box has died, init is our own
 * child, and would stay a zombie. */
static void on_init_ended(void *owner, int events)
{
    struct box *box = owner;
    siginfo_t info;
    (void)events;
    waitid(P_PIDFD, (id_t)watch_fd(box->init), &info, WEXITED | WNOHANG);
    watch_free(box->init);
    cgroup_free(box->cgroup);
    users_return(box->boxes->users, box->user, true);
    box->boxes->dying--;
    free_when_done(box->boxes);
    free(box);
}

/* Everything that leads into the box goes first, then init, and with it all
 * that runs there. The memory goes when init has ended. */
static void kill_box(struct box *box)
{
    box_enter(box, DYING);
    box->events = (struct box_events){ 0 };
    watch_free(box->channel); /* init ends when it sees this */
    alarm_free(box->deadline);
    door_free(box->door);
    for (size_t i = 0; i < BOX_FDS; i++)
        close_fd(&box->fds[i]);
    folder_remove(box->folder);
    packages_remove(box->boxes->loop, box->packages);
    if (!box->init) {
        /* It may be half made, and end in a moment: its user id is in doubt. */
        orphans_look(box->boxes->orphans);
        users_return(box->boxes->users, box->user, false);
        cgroup_free(box->cgroup);
        free(box);
        return;
    }
    box->boxes->dying++;
    syscall(SYS_pidfd_send_signal, watch_fd(box->init), SIGKILL, NULL, 0);
    watch_want(box->init, UV_READABLE);
}

void box_release(struct box *box)
{
    if (!box)
        return;
    struct boxes *boxes = box->boxes;
    kill_box(box);
    refill(boxes);
}

/* ------------------------------------------------------------- its making */

static void box_request_answer(struct box_request *request, struct box *box,
                               const struct err *err)
{
    request->waiting = false;
    request->box = box;
    if (box)
        box_enter(box, LENT);
    else
        request->err = *err;
    request->on_answer(request->owner);
}

static void box_fail(struct box *box, const char *why)
{
    struct boxes *boxes = box->boxes;
    struct err err;
    err_set(&err, ERR_RETRY, "session_failed", "no box could be made: %s", why);
    log_line("box.failed", NULL, "%s", why);
    kill_box(box);
    boxes->resting = true;
    alarm_set(boxes->retry, RETRY_MS);
    /* Those who wait now. One that is told may ask again, and then waits for
     * the next box; it may also end others that wait, which boxes_forget()
     * takes out of the list: so the list is read anew each time. */
    size_t count = 0;
    for (const struct box_request *request = boxes->requests; request;
         request = request->next)
        count++;
    while (count-- > 0 && boxes->requests) {
        struct box_request *request = boxes->requests;
        boxes->requests = request->next;
        box_request_answer(request, NULL, &err);
    }
}

/* Boxes of another size than usual are made for one waiter. */
static void lend_or_keep(struct box *box)
{
    struct boxes *boxes = box->boxes;
    alarm_stop(box->deadline);
    box_enter(box, READY);
    for (struct box_request **link = &boxes->requests; *link;
         link = &(*link)->next)
        if ((*link)->disk_bytes == box->disk_bytes) {
            struct box_request *request = *link;
            *link = request->next;
            box_request_answer(request, box, NULL);
            refill(boxes);
            return;
        }
    if (box->disk_bytes != usual_bytes(boxes))
        kill_box(box); /* whoever wanted it has gone */
    refill(boxes);
}

/* Those of BOX_UP that are always there. */
static size_t fewest_fds(const struct boxes *boxes)
{
    return BOX_FD_DOOR + (boxes->network != NULL);
}

static void box_is_up(struct box *box, const int *fds, size_t count)
{
    struct boxes *boxes = box->boxes;
    memcpy(box->fds, fds, BOX_FD_DOOR * sizeof(int));
    fds += BOX_FD_DOOR;
    count -= BOX_FD_DOOR;
    if (boxes->network) {
        box->door = door_new(boxes->network, *fds++);
        count--;
    }
    boxes->have_proc = count > 0;
    if (boxes->have_proc)
        box->fds[BOX_FD_PROC] = *fds;
    int init = box->fds[BOX_FD_INIT];
    box->fds[BOX_FD_INIT] = -1;
    box->init = watch_new(boxes->loop, init, on_init_ended, box);
    lend_or_keep(box);
}

/* Of several sweeps that are under way only the last one is reported: the ones
 * before may have kept processes that were to end. */
static void box_tell(struct box *box, const struct box_word *word)
{
    const struct box_events *events = &box->events;
    if (word->kind == BOX_ENDED)
        events->on_ended(events->owner, word->pid, word->status);
    else if (--box->sweeps == 0)
        events->on_swept(events->owner, word->kind == BOX_SWEPT);
}

/* Init is gone. Whoever waits for a sweep, or asks for one later, hears that it
 * was not clean. */
static void box_lose(struct box *box)
{
    box->lost = true;
    watch_want(box->channel, 0);
    alarm_set(box->deadline, 0);
}

static void on_channel(void *owner, int events)
{
    struct box *box = owner;
    struct box_word word = { 0 };
    int fds[WIRE_FDS];
    size_t count = BOX_FDS;
    (void)events;
    ssize_t got = wire_receive(watch_fd(box->channel), &word, sizeof(word), fds,
                               &count, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got == sizeof(word) && box->machine.state == STARTING &&
        word.kind == BOX_UP && count >= fewest_fds(box->boxes)) {
        box->boxes->host_parts = word.count;
        box_is_up(box, fds, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    if (box->machine.state == STARTING) {
        word.text[sizeof(word.text) - 1] = '\0';
        box_fail(box, got == sizeof(word) ? word.text : "quern-box ended");
        return;
    }
    /* Closed: init is gone, and the kernel has killed all that was in the box.
     * The owner hears of it by the death of its interpreter. */
    if (got <= 0 && box->machine.state == READY)
        box_release(box);
    else if (got <= 0)
        box_lose(box);
    else if (box->events.owner)
        box_tell(box, &word);
}

/* A folder, or a box that is lost, has nobody who answers: the next turn of
 * the loop does. */
static void on_deadline(void *owner)
{
    struct box *box = owner;
    if (box->machine.state != STARTING && box->events.owner)
        box->events.on_swept(box->events.owner, !box->lost);
    else if (box->folder)
        lend_or_keep(box);
    else
        box_fail(box, "it took too long");
}

static void start_folder(struct box *box)
{
    box->folder = folder_make(&box->fds[BOX_FD_WORKSPACE]);
    if (box->folder)
        alarm_set(box->deadline, 0);
    else
        box_fail(box, strerror(errno));
}

static bool order_box(struct box *box, int channel)
{
    struct boxes *boxes = box->boxes;
    struct box_order order = {
        .disk_bytes = box->disk_bytes,
        .user = box->user,
        .online = boxes->network != NULL,
        .outer = boxes->settings->outer != OUTER_NONE,
    };
    int fds[ORDER_FDS] = {
        [ORDER_CHANNEL] = channel, [ORDER_POOL] = users_pool(boxes->users)
    };
    if (box->packages)
        snprintf(order.packages, sizeof(order.packages), "%s", box->packages);
    if (!cgroup_doors(box->cgroup, fds + ORDER_DOORS))
        return false;
    bool asked = maker_ask(boxes->maker, &order, fds);
    for (size_t i = 0; i < CGROUP_DOORS; i++)
        close_fd(&fds[ORDER_DOORS + i]);
    return asked;
}

static void start_box(struct boxes *boxes, uint64_t disk_bytes)
{
    struct box *box = allocate(sizeof(*box));
    machine_init(&box->machine, &kind, box, STARTING);
    box->boxes = boxes;
    box->disk_bytes = disk_bytes;
    box->next = boxes->own;
    boxes->own = box;
    for (size_t i = 0; i < BOX_FDS; i++)
        box->fds[i] = -1;
    box->deadline = alarm_new(boxes->loop, on_deadline, box);
    alarm_set(box->deadline, START_MS);

    if (boxes->settings->insecure) {
        start_folder(box);
        return;
    }
    int pair[2];
    struct err err;
    if (!users_take(boxes->users, &box->user)) {
        box_fail(box, "all user ids of --uid-range are in use");
        return;
    }
    box->cgroup = cgroup_new(boxes->cgroups, &boxes->settings->limits, &err);
    if (!box->cgroup && err.kind != ERR_NONE) {
        box_fail(box, err.text);
        return;
    }
    if (!wire_pair(SOCK_SEQPACKET, pair)) {
        box_fail(box, strerror(errno));
        return;
    }
    box->channel = watch_new(boxes->loop, pair[0], on_channel, box);
    if (boxes->packages)
        box->packages = packages_folder(boxes->packages);
    bool ordered = order_box(box, pair[1]);
    close(pair[1]);
    if (ordered) {
        watch_want(box->channel, UV_READABLE);
        return;
    }
    err_set(&err, ERR_RETRY, "session_failed", "%s could not be started",
            boxes->settings->box_path);
    box_fail(box, err.text);
}

/* ------------------------------------------------------------------ pool */

static bool is_missed(const struct boxes *boxes, uint64_t disk_bytes)
{
    size_t there = 0;
    size_t wanted = disk_bytes == usual_bytes(boxes) ? READY_BOXES : 0;
    for (const struct box_request *request = boxes->requests; request;
         request = request->next)
        wanted += request->disk_bytes == disk_bytes;
    for (const struct box *box = boxes->own; box; box = box->next)
        there += box->disk_bytes == disk_bytes;
    return there < wanted;
}

static bool is_any_missed(const struct boxes *boxes, uint64_t *disk_bytes)
{
    const struct box_request *request = boxes->requests;
    while (request && !is_missed(boxes, request->disk_bytes))
        request = request->next;
    *disk_bytes = request ? request->disk_bytes : usual_bytes(boxes);
    return is_missed(boxes, *disk_bytes);
}

static size_t count_starting(const struct boxes *boxes)
{
    size_t count = 0;
    for (const struct box *box = boxes->own; box; box = box->next)
        count += box->machine.state == STARTING;
    return count;
}

static void refill(struct boxes *boxes)
{
    uint64_t disk_bytes;
    while (!boxes->resting && count_starting(boxes) < MAX_STARTING &&
           is_any_missed(boxes, &disk_bytes))
        start_box(boxes, disk_bytes);
}

static void on_retry(void *owner)
{
    struct boxes *boxes = owner;
    boxes->resting = false;
    refill(boxes);
}

struct boxes *boxes_new(uv_loop_t *loop,
                        const struct executor_settings *settings,
                        struct cgroups *cgroups, struct packages *packages,
                        struct users *users)
{
    struct boxes *boxes = allocate(sizeof(*boxes));
    boxes->loop = loop;
    boxes->settings = settings;
    boxes->cgroups = cgroups;
    boxes->packages = packages;
    boxes->users = users;
    boxes->retry = alarm_new(loop, on_retry, boxes);
    boxes->maker = maker_new(loop, settings);
    boxes->orphans = orphans_new(loop);
    if (settings->hosts)
        boxes->network = network_new(loop, settings);
    refill(boxes);
    return boxes;
}

void boxes_free(struct boxes *boxes)
{
    if (!boxes)
        return;
    while (boxes->own)
        kill_box(boxes->own);
    network_free(boxes->network);
    alarm_free(boxes->retry);
    maker_free(boxes->maker);
    orphans_free(boxes->orphans);
    boxes->freed = true;
    free_when_done(boxes);
}

bool boxes_are_dying(const struct boxes *boxes)
{
    return boxes->dying > 0;
}
bool boxes_have_proc(const struct boxes *boxes)
{
    return boxes->have_proc;
}

unsigned int boxes_host_parts(const struct boxes *boxes)
{
    return boxes->host_parts;
}

bool boxes_take(struct boxes *boxes, struct box_request *request)
{
    request->box = NULL;
    request->err = (struct err){ 0 };
    request->next = NULL;
    struct box *box = boxes->own;
    while (box && (box->machine.state != READY ||
                   box->disk_bytes != request->disk_bytes))
        box = box->next;
    if (box)
        box_enter(box, LENT);
    request->box = box;
    if (!request->box) {
        struct box_request **last = &boxes->requests;
        while (*last)
            last = &(*last)->next;
        *last = request;
        request->waiting = true;
    }
    /* A session that has its box is to run before the next box is made. */
    alarm_set(boxes->retry, request->box ? REFILL_MS : 0);
    return request->box;
}

bool boxes_are_wanted(const struct boxes *boxes)
{
    return boxes->requests;
}

void boxes_forget(struct boxes *boxes, struct box_request *request)
{
    for (struct box_request **link = &boxes->requests; *link;
         link = &(*link)->next)
        if (*link == request) {
            *link = request->next;
            break;
        }
    request->waiting = false;
}

/* -------------------------------------------------------------- one, lent */

void box_use(struct box *box, struct box_events events)
{
    box->events = events;
}

const int *box_namespaces(const struct box *box)
{
    return box->folder ? NULL : box->fds;
}

bool box_is_folder(const struct box *box)
{
    return box->folder;
}
bool box_has_own_user(const struct box *box)
{
    return box->user != 0;
}
int box_workspace(const struct box *box)
{
    return box->fds[BOX_FD_WORKSPACE];
}
struct cgroup *box_cgroup(const struct box *box)
{
    return box->cgroup;
}
bool box_limit(struct box *box, const struct session_limits *limits,
               struct err *err)
{
    return cgroup_limit(box->cgroup, limits, err);
}
bool box_doors(const struct box *box, int doors[CGROUP_DOORS])
{
    return cgroup_doors(box->cgroup, doors);
}
int box_proc(const struct box *box)
{
    return box->fds[BOX_FD_PROC];
}
const char *box_packages(const struct box *box)
{
    return box->packages;
}

void box_name(struct box *box, const char *session)
{
    door_name(box->door, session);
}

/* If it cannot be sent, init is gone, and the end of the channel tells so. */
void box_sweep(struct box *box, const pid_t keep[BOX_KEPT])
{
    struct box_word word = { .kind = BOX_SWEEP };
    struct view bytes = { (const char *)&word, sizeof(word) };
    memcpy(word.keep, keep, sizeof(word.keep));
    if (box->folder || box->lost)
        alarm_set(box->deadline, 0);
    else if (wire_send(watch_fd(box->channel), bytes, NULL, 0, MSG_DONTWAIT) >
             0)
        box->sweeps++;
}
