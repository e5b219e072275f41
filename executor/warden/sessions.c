/* sessions.c - all sessions of this warden, by name. */
#include "executor/warden/sessions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/warden/numbers.h"

/* The host's name, with "-" in place of what a name here may not have. */
static void name_host(char host[64])
{
    if (gethostname(host, 63) < 0)
        host[0] = '\0';
    host[63] = '\0';
    for (char *c = host; *c; c++)
        if (!name_is_valid((struct view){ c, 1 }) && *c != '.')
            *c = '-';
}

void sessions_name(struct sessions *sessions)
{
    uint64_t chance;
    char host[64];
    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        abort(); /* so few bytes are always had */
    name_host(host);
    snprintf(sessions->instance, sizeof(sessions->instance), "%s/%016" PRIx64,
             host[0] ? host : "host", chance);
}

/* FNV-1a. */
static struct session **bucket(struct sessions *sessions, struct view name)
{
    uint32_t hash = 2166136261;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.data[i]) * 16777619;
    return &sessions->buckets[hash % SESSION_BUCKETS];
}

/* A session that is closing is found by nobody: its name is free. */
static struct session *sessions_find(struct sessions *sessions,
                                     struct view name)
{
    struct session *session = *bucket(sessions, name);
    while (session &&
           (!view_is(name, session->name) || session_is_closing(session)))
        session = session->next;
    return session;
}

/* A walk through all sessions. On the stack of do_to_all(). */
struct session_walk {
    struct session_walk *outer;
    struct session *next; /* to be visited; of this bucket */
};

/* act may free any session: the end of one gives its box back, and another that
 * waited for a box may end by that. sessions_remove() moves on the walks that
 * would come to it. */
static void do_to_all(struct sessions *sessions,
                      void (*act)(struct session *session, void *with),
                      void *with)
{
    struct session_walk walk = { .outer = sessions->walk };
    sessions->walk = &walk;
    for (size_t i = 0; i < SESSION_BUCKETS; i++) {
        walk.next = sessions->buckets[i];
        while (walk.next) {
            struct session *session = walk.next;
            walk.next = session->next;
            act(session, with);
        }
    }
    sessions->walk = walk.outer;
}

static uint64_t at_most(uint64_t wanted, uint64_t most)
{
    return wanted == 0 || wanted > most ? most : wanted;
}

static struct session *open_session(struct sessions *sessions,
                                    const struct frame *frame, struct err *err)
{
    const struct session_limits *most = &sessions->settings->limits;
    struct session_limits limits = {
        .memory_bytes = at_most(frame->limits.memory_bytes, most->memory_bytes),
        .disk_bytes = at_most(frame->limits.disk_bytes, most->disk_bytes),
        .processes = at_most(frame->limits.processes, most->processes),
    };
    enum profile profile = sessions->settings->profile;
    if (!name_is_valid(frame->session)) {
        err_set(err, ERR_REJECT, "bad_field",
                "session: \"%.*s\", must be 1 to %d of A-Z a-z 0-9 . _ -",
                VIEW_ARG(view_head(frame->session, 64)), MAX_NAME_BYTES);
        return NULL;
    }
    if (frame->profile.len > 0 && !profile_read(frame->profile, &profile)) {
        err_set(err, ERR_REJECT, "bad_field",
                "profile: \"%.*s\", must be science or bare",
                VIEW_ARG(frame->profile));
        return NULL;
    }
    if (sessions->count >= sessions->settings->sessions) {
        err_set(err, ERR_RETRY, "session_failed",
                "%zu sessions are open, at most %llu: close one, or start the "
                "executor with more (--sessions)",
                sessions->count,
                (unsigned long long)sessions->settings->sessions);
        return NULL;
    }
    struct session *session =
        session_new(sessions, frame->session, profile, &limits);
    snprintf(session->holder, sizeof(session->holder), "%.80s.%" PRIu64,
             sessions->instance, ++sessions->made);
    struct session **first = bucket(sessions, frame->session);
    session->next = *first;
    *first = session;
    sessions->count++;
    return session;
}

/* What these ask for is already so when there is no such session. */
static bool needs_no_session(int type)
{
    return type == FRAME_CLOSE || type == FRAME_FORGET ||
           type == FRAME_INTERRUPT;
}

static void describe(struct session *session, void *with)
{
    struct list *list = with;
    struct session_info *infos = list->items;
    session_describe(session, &infos[list->count++]);
}

static void answer_sessions(struct sessions *sessions,
                            const struct peer_request *request)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct list list = {
        .items =
            arena_alloc(&arena, sessions->count * sizeof(struct session_info)),
    };
    do_to_all(sessions, describe, &list);
    peer_answer(request->peer, request->frame.ref,
                (struct frame){
                    .type = FRAME_LISTING,
                    .sessions = list,
                });
}

static void count_idle(struct session *session, void *with)
{
    size_t *idle = with;
    *idle += session->machine.state == SESSION_IDLE;
}

void sessions_count(struct sessions *sessions)
{
    size_t idle = 0, ready = pool_ready(sessions->pool);
    do_to_all(sessions, count_idle, &idle);
    metric_set(NUMBER_SESSIONS, (double)idle, LABELS(VIEW("idle")));
    metric_set(NUMBER_SESSIONS, (double)(sessions->count - idle),
               LABELS(VIEW("busy")));
    metric_set(NUMBER_SESSIONS, (double)ready, LABELS(VIEW("ready")));
}

void sessions_ask(struct sessions *sessions, struct peer_request *request)
{
    const struct frame *frame = &request->frame;
    struct session *session = sessions_find(sessions, frame->session);
    struct err err = { 0 };
    if (frame->type == FRAME_SESSIONS) {
        answer_sessions(sessions, request);
        request_free(request);
        return;
    }
    if (!session && frame->type == FRAME_OPEN)
        session = open_session(sessions, frame, &err);
    else if (!session)
        err_set(&err, ERR_RETRY, "session_failed",
                "no session \"%.*s\": it was not opened, or has ended",
                VIEW_ARG(frame->session));
    if (session) {
        session_ask(session, request);
        return;
    }
    if (needs_no_session(frame->type))
        peer_ok(request->peer, frame->ref);
    else
        peer_fail(request->peer, frame->ref, &err);
    request_free(request);
}

static void sessions_leave_one(struct session *session, void *peer)
{
    session_leave(session, peer);
}

void sessions_leave(struct sessions *sessions, struct peer *peer)
{
    do_to_all(sessions, sessions_leave_one, peer);
}

static void sessions_hold_one(struct session *session, void *with)
{
    (void)with;
    session_hold(session);
}

void sessions_hold(struct sessions *sessions)
{
    do_to_all(sessions, sessions_hold_one, NULL);
}

static void sessions_run_one(struct session *session, void *with)
{
    (void)with;
    session_run(session);
}

void sessions_caught_up(struct sessions *sessions)
{
    do_to_all(sessions, sessions_run_one, NULL);
}

void sessions_remove(struct sessions *sessions, struct session *session)
{
    struct session **link = bucket(sessions, view_of(session->name));
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    for (struct session_walk *walk = sessions->walk; walk; walk = walk->outer)
        if (walk->next == session)
            walk->next = session->next;
    sessions->count--;
    log_line("session.ended", session->name, "%zu left", sessions->count);
    session_free(session);
}

/* The end of one may free another, which waited for a box: so the bucket is
 * looked at anew each time. */
void sessions_finish(struct sessions *sessions)
{
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        while (sessions->buckets[i])
            sessions_remove(sessions, sessions->buckets[i]);
}
