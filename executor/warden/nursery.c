/* nursery.c - interpreters that are ready before anybody asks. */
#include "executor/warden/nursery.h"

#include <stdlib.h>

#include "executor/base/log.h"

enum {
    QUIET_MS = 25,   /* after somebody took one: that one has work to do */
    PACE_MS = 20,    /* from one to the next: cells want to run as well */
    RETRY_MS = 1000, /* after a failure */
    BIRTH_MS = 60000,
};

struct nursling {
    struct nursling *next;
    struct nursery *nursery;
    enum profile profile;
    uint64_t generation; /* of its zygote */
    struct box_wish wish;
    struct interpreter *interpreter; /* NULL: it waits for a box */
    bool ready;
};

struct nursery {
    uv_loop_t *loop;
    const struct settings *settings;
    struct boxes *boxes;
    struct zygote *zygotes[PROFILES]; /* NULL: nobody has asked for it */
    struct nursling *first;           /* the newest first */
    struct nursling *coming;          /* the one of them that is not ready */
    struct alarm *pace;               /* the next is due; or: this one is */
};

static void end(struct nursling *nursling)
{
    struct nursery *nursery = nursling->nursery;
    struct nursling **link = &nursery->first;
    while (*link != nursling)
        link = &(*link)->next;
    *link = nursling->next;
    if (nursery->coming == nursling)
        nursery->coming = NULL;
    if (nursling->wish.waiting)
        boxes_forget(nursery->boxes, &nursling->wish);
    box_release(nursling->wish.box);
    interpreter_free(nursling->interpreter);
    free(nursling);
}

static bool is_current(const struct nursling *nursling)
{
    const struct nursery *nursery = nursling->nursery;
    return nursling->generation ==
           zygote_generation(nursery->zygotes[nursling->profile]);
}

/* In the place of one whose zygote is not there any more. */
static void end_outdated(struct nursery *nursery, enum profile profile)
{
    for (struct nursling *nursling = nursery->first; nursling;
         nursling = nursling->next)
        if (nursling->profile == profile && !is_current(nursling)) {
            end(nursling);
            return;
        }
}

/* ------------------------------------------------------- what becomes of one
 */

static void on_ready(void *owner)
{
    struct nursling *nursling = owner;
    struct nursery *nursery = nursling->nursery;
    nursling->ready = true;
    nursery->coming = NULL;
    interpreter_freeze(nursling->interpreter);
    end_outdated(nursery, nursling->profile);
    alarm_set(nursery->pace, PACE_MS);
}

/* Before or after it was ready. */
static void on_dead(void *owner)
{
    struct nursling *nursling = owner;
    struct nursery *nursery = nursling->nursery;
    log_line("nursery.lost", profile_names[nursling->profile], "%s",
             interpreter_cause(nursling->interpreter));
    end(nursling);
    alarm_set(nursery->pace, RETRY_MS);
}

static void be_born(struct nursling *nursling)
{
    struct nursery *nursery = nursling->nursery;
    struct zygote *zygote = nursery->zygotes[nursling->profile];
    nursling->interpreter =
        interpreter_new(nursery->loop, zygote, nursling->wish.box,
                        &nursery->settings->limits, false);
    nursling->wish.box = NULL;
    interpreter_use(nursling->interpreter, (struct interpreter_events){
                                               .on_ready = on_ready,
                                               .on_dead = on_dead,
                                               .owner = nursling,
                                           });
}

static void on_box(void *owner)
{
    struct nursling *nursling = owner;
    struct nursery *nursery = nursling->nursery;
    if (nursling->wish.box) {
        be_born(nursling);
        return;
    }
    end(nursling);
    alarm_set(nursery->pace, RETRY_MS);
}

static void start(struct nursery *nursery, enum profile profile)
{
    struct nursling *nursling = allocate(sizeof(*nursling));
    nursling->nursery = nursery;
    nursling->profile = profile;
    nursling->generation = zygote_generation(nursery->zygotes[profile]);
    nursling->wish.on_answer = on_box;
    nursling->wish.owner = nursling;
    nursling->wish.disk_bytes = nursery->settings->limits.disk_bytes;
    nursling->next = nursery->first;
    nursery->first = nursery->coming = nursling;
    alarm_set(nursery->pace, BIRTH_MS);
    if (boxes_take(nursery->boxes, &nursling->wish))
        be_born(nursling);
}

/* ------------------------------------------------------------ how many, when
 */

static bool is_missed(const struct nursery *nursery, enum profile profile)
{
    const struct zygote *zygote = nursery->zygotes[profile];
    uint64_t count = 0;
    if (!zygote || zygote_generation(zygote) == 0)
        return false; /* its first word wakes us */
    for (const struct nursling *nursling = nursery->first; nursling;
         nursling = nursling->next)
        count += nursling->profile == profile && is_current(nursling);
    return count < nursery->settings->ready;
}

static bool somebody_waits(const struct nursery *nursery)
{
    bool busy = boxes_are_wanted(nursery->boxes);
    for (size_t i = 0; i < PROFILES; i++)
        busy |= nursery->zygotes[i] && zygote_is_busy(nursery->zygotes[i]);
    return busy;
}

static void on_pace(void *owner)
{
    struct nursery *nursery = owner;
    if (nursery->coming) { /* for too long */
        end(nursery->coming);
        alarm_set(nursery->pace, RETRY_MS);
        return;
    }
    for (int profile = 0; profile < PROFILES; profile++)
        if (is_missed(nursery, (enum profile)profile)) {
            if (somebody_waits(nursery))
                alarm_set(nursery->pace, PACE_MS);
            else
                start(nursery, (enum profile)profile);
            return;
        }
}

static void on_up(void *owner)
{
    struct nursery *nursery = owner;
    if (!nursery->coming)
        alarm_set(nursery->pace, QUIET_MS);
}

/* -------------------------------------------------------------- life cycle */

struct nursery *nursery_new(uv_loop_t *loop, const struct settings *settings,
                            struct boxes *boxes)
{
    struct nursery *nursery = allocate(sizeof(*nursery));
    nursery->loop = loop;
    nursery->settings = settings;
    nursery->boxes = boxes;
    nursery->pace = alarm_new(loop, on_pace, nursery);
    nursery_zygote(nursery, settings->profile);
    return nursery;
}

void nursery_close(struct nursery *nursery)
{
    while (nursery->first)
        end(nursery->first);
    alarm_stop(nursery->pace);
}

void nursery_free(struct nursery *nursery)
{
    if (!nursery)
        return;
    nursery_close(nursery);
    for (size_t i = 0; i < PROFILES; i++)
        zygote_free(nursery->zygotes[i]);
    alarm_free(nursery->pace);
    free(nursery);
}

struct zygote *nursery_zygote(struct nursery *nursery, enum profile profile)
{
    if (!nursery->zygotes[profile])
        nursery->zygotes[profile] = zygote_new(nursery->loop, nursery->settings,
                                               profile, on_up, nursery);
    return nursery->zygotes[profile];
}

struct interpreter *nursery_take(struct nursery *nursery, enum profile profile,
                                 const struct session_limits *limits)
{
    if (limits->disk_bytes != nursery->settings->limits.disk_bytes)
        return NULL; /* a box's quota is made with it */
    for (struct nursling *nursling = nursery->first; nursling;
         nursling = nursling->next) {
        struct interpreter *interpreter = nursling->interpreter;
        if (nursling->profile != profile || !nursling->ready ||
            !interpreter_limit(interpreter, limits))
            continue;
        nursling->interpreter = NULL;
        end(nursling);
        if (!nursery->coming)
            alarm_set(nursery->pace, QUIET_MS);
        return interpreter;
    }
    return NULL;
}
