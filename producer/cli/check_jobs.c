/* check_jobs.c - the second pass of a look: compares each job with the places
 * where it was found. Then the ids that were found in places but belong to no
 * job. */
#include <stdlib.h>
#include <string.h>

#include "producer/cli/check.h"
#include "schemas/redis/operate.h"

/* The facts that are read of each job, in the order of the reply to HMGET. */
enum { STATE, ENTRY, PLACE, DEADLINE, BLOBS, SESSION, ERROR_CODE, FACTS };

/* A job while it is checked; borrows from the replies. */
struct checked_job {
    const char *key;
    const char *id;
    struct check_place *place;
    enum quern_state state;
    bool endless; /* the hash does not expire */
    struct view values[FACTS];
};

static bool read_state(struct view name, enum quern_state *state)
{
    for (int i = QUERN_SCHEDULED; i <= QUERN_CANCELLED; i++)
        if (view_is(name, quern_state_name((enum quern_state)i))) {
            *state = (enum quern_state)i;
            return true;
        }
    return false;
}

/* --- one that has not ended ----------------------------------------------- */

static bool is_set(const struct checked_job *facts, int fact)
{
    return facts->values[fact].len > 0;
}

/* Its facts name an entry: it must be in a stream, once, under that id. */
static void check_entry(struct check *check, const struct checked_job *facts)
{
    const struct check_place *place = facts->place;
    struct view entry = facts->values[ENTRY];

    if (!(place->where & IN_STREAM))
        check_fault(check, facts->key,
                    "its entry %.*s is in no stream that there is",
                    VIEW_ARG(view_head(entry, 64)));
    else if (place->where & IN_STREAM_TWICE)
        check_fault(check, facts->key, "it has two entries in streams");
    else if (mark_of(entry) != place->mark)
        check_fault(check, facts->key, "its entry is another one than %.*s",
                    VIEW_ARG(view_head(entry, 64)));
}

/* In a stream, in a lane, or behind others in the line of its session. */
static void check_queued(struct check *check, const struct checked_job *facts)
{
    const struct check_place *place = facts->place;
    struct view lane = facts->values[PLACE];

    if (is_set(facts, ENTRY))
        check_entry(check, facts);
    else if (lane.len > 0 &&
             (!(place->where & IN_LANE) || (!(place->where & IN_LANE_TWICE) &&
                                            mark_of(lane) != place->lane_mark)))
        check_fault(check, facts->key, "it is not at place %.*s of its lane",
                    VIEW_ARG(view_head(lane, 64)));
    else if (lane.len == 0 && !(place->where & IN_LINE))
        check_fault(check, facts->key,
                    "it is queued, but in no stream, no lane and no line");
    else if (lane.len == 0 && place->where & FIRST_IN_LINE)
        check_fault(check, facts->key,
                    "it is queued and the first in the line of its session, "
                    "but in no stream and no lane");
    else if (lane.len == 0 && !(place->where & BEHIND))
        check_fault(check, facts->key,
                    "it waits for others of its session, but is not listed "
                    "among those behind them");
    if (!is_set(facts, ENTRY) && place->where & IN_STREAM)
        check_fault(check, facts->key,
                    "it has an entry in a stream that its facts do not know");
    if ((is_set(facts, ENTRY) || lane.len > 0) && place->where & BEHIND)
        check_fault(check, facts->key,
                    "it stands in a stream or a lane, and is listed as behind "
                    "others of its session");
    if (place->where & LEASED)
        check_fault(check, facts->key, "it is queued, and has a lease");
}

static void check_running(struct check *check, const struct checked_job *facts)
{
    uint32_t where = facts->place->where;

    if (is_set(facts, ENTRY) || where & IN_STREAM)
        check_fault(check, facts->key, "it runs, and has an entry in a stream");
    if (!(where & LEASED))
        check_fault(check, facts->key, "it runs, but has no lease");
    if (where & READY)
        check_fault(check, facts->key, "it runs, and is listed as ready");
    if (where & BEHIND)
        check_fault(check, facts->key,
                    "it runs, and is listed as behind others of its session");
}

static void check_later(struct check *check, const struct checked_job *facts)
{
    uint32_t where = facts->place->where;

    if (!(where & SCHEDULED))
        check_fault(check, facts->key,
                    "it is %s, but nothing says when it goes on",
                    quern_state_name(facts->state));
    if (where & (IN_STREAM | LEASED))
        check_fault(check, facts->key, "it is %s, and in a stream or leased",
                    quern_state_name(facts->state));
    if (where & BEHIND)
        check_fault(check, facts->key,
                    "it is %s, and listed as behind others of its session",
                    quern_state_name(facts->state));
}

static void check_body(struct check *check, const struct checked_job *facts)
{
    struct key root = names_root(&check->names, check->partition);
    char body[NAMES_MAX_KEY + 80];

    if (facts->values[PLACE].len > 0 && facts->place->where & BODY_IN_LANE)
        return;
    snprintf(body, sizeof(body), "%sbody:%s", root.text, facts->id);
    CLEANUP(cleanup_asked) redisReply *there = CHECK_ASK(check, "EXISTS", body);

    if (there && there->integer == 0)
        check_fault(check, facts->key,
                    "it has not ended, but what was "
                    "submitted is not there");
}

static void check_ongoing(struct check *check, const struct checked_job *facts)
{
    uint32_t where = facts->place->where;
    bool limited =
        is_set(facts, DEADLINE) && !view_is(facts->values[DEADLINE], "0");

    if (!facts->endless)
        check_fault(check, facts->key, "it has not ended, and expires");
    if (where & DEAD)
        check_fault(check, facts->key,
                    "it has not ended, and is listed as "
                    "dead");
    /* While the job runs, its consumer watches the deadline. */
    if (limited && !(where & DUE) && facts->state != QUERN_IN_PROGRESS)
        check_fault(check, facts->key, "nobody watches its deadline");
    /* A scheduled job joins the line of its session when its time comes. */
    if (is_set(facts, SESSION) && !(where & IN_LINE) &&
        facts->state != QUERN_SCHEDULED)
        check_fault(check, facts->key, "it is not in the line of its session");
    check_body(check, facts);
    check_blobs(check, facts->key, facts->values[BLOBS], where & NEEDS_BLOBS);
}

/* --- one that has ended --------------------------------------------------- */

/* A job that has ended must be in none of the places of jobs that go on, and
 * all that is kept of it must expire. One that failed by no fault of its own
 * must be listed as dead, where operators find it. */
static void check_jobs_ended(struct check *check,
                             const struct checked_job *facts)
{
    static const struct {
        uint32_t where;
        const char *what;
    } wrongs[] = {
        { IN_STREAM, "it has an entry in a stream" },
        { LEASED, "it has a lease" },
        { SCHEDULED, "it is to go on later" },
        { READY, "it is listed as ready" },
        { RUNNING, "it is listed as running" },
        { BEHIND, "it is listed as behind others of its session" },
        { DUE, "its deadline is watched" },
        { IN_LINE, "it stands in the line of a session" },
        { UNIQUE, "it holds a unique key" },
        { NEEDS_BLOBS, "it keeps blobs from expiring" },
        { ENDLESS, "its body, journal or events do not expire" },
    };

    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++)
        if (facts->place->where & wrongs[i].where)
            check_fault(check, facts->key, "it is %s, but %s",
                        quern_state_name(facts->state), wrongs[i].what);
    if (facts->endless)
        check_fault(check, facts->key, "it is %s, but does not expire",
                    quern_state_name(facts->state));
    if (facts->state == QUERN_FAILED && !(facts->place->where & DEAD) &&
        !transition_is_own_fault(facts->values[ERROR_CODE]))
        check_fault(check, facts->key, "it failed, but is not listed as dead");
}

/* Counts the job and checks it by its state. Sets IS_JOB, which
 * check_leftovers() needs for every job that is there. */
static void check_judge_job(struct check *check,
                            const struct checked_job *facts)
{
    static void (*const by_state[])(struct check *,
                                    const struct checked_job *) = {
        [QUERN_SCHEDULED] = check_later,
        [QUERN_QUEUED] = check_queued,
        [QUERN_IN_PROGRESS] = check_running,
        [QUERN_WAITING] = check_later,
    };
    uint64_t *const counts[] = {
        [QUERN_SCHEDULED] = &check->counts.later,
        [QUERN_QUEUED] = &check->counts.waiting,
        [QUERN_IN_PROGRESS] = &check->counts.running,
        [QUERN_WAITING] = &check->counts.later,
    };

    facts->place->where |= IS_JOB;
    if (quern_state_is_terminal(facts->state)) {
        check->counts.ended++;
        check_jobs_ended(check, facts);
        return;
    }
    facts->place->where |= ONGOING;
    ++*counts[facts->state];
    by_state[facts->state](check, facts);
    check_ongoing(check, facts);
}

#define READ_FACTS(ask, check, key)                                            \
    ask(check, "HMGET", key, "state", "entry", "place", "deadline_at",         \
        "blobs", "session", "error_code")

void prefetch_job(struct check *check, const char *key, const char *rest)
{
    if (strncmp(rest, "job:", 4) != 0)
        return;
    READ_FACTS(CHECK_PREFETCH, check, key);
    CHECK_PREFETCH(check, "PTTL", key);
}

void check_job(struct check *check, const char *key, const char *rest)
{
    struct checked_job facts = { .key = key, .id = rest + strlen("job:") };

    if (strncmp(rest, "job:", 4) != 0)
        return;
    CLEANUP(cleanup_asked)
    redisReply *reply = READ_FACTS(CHECK_ASK, check, key);
    CLEANUP(cleanup_asked) redisReply *ttl = CHECK_ASK(check, "PTTL", key);

    /* It has expired since SCAN listed it. */
    if (!reply || reply->elements != FACTS || !ttl || ttl->integer == -2)
        return;
    for (int i = 0; i < FACTS; i++)
        if (reply->element[i]->type == REDIS_REPLY_STRING)
            facts.values[i] =
                (struct view){ reply->element[i]->str, reply->element[i]->len };
    facts.endless = ttl->integer == -1;
    if (strncmp(facts.id, "entry-", 6) == 0) {
        if (facts.endless)
            check_fault(check, key, "it does not expire");
    } else if (!id_parse(view_of(facts.id), NULL)) {
        check_fault(check, key, "this is no job id");
    } else if (!read_state(facts.values[STATE], &facts.state)) {
        check_fault(check, key, "\"%.*s\" is not a state",
                    VIEW_ARG(view_head(facts.values[STATE], 32)));
    } else {
        facts.place = places_of(&check->places, view_of(facts.id));
        check_judge_job(check, &facts);
    }
}

/* --- what names no job ---------------------------------------------------- */

/* Members of dead sets and of lanes may outlive their job: the library removes
 * them when it comes upon them. */
void check_leftovers(struct check *check)
{
    const struct places *places = &check->places;
    const uint32_t tidied = DEAD | IN_LANE;

    for (size_t i = 0; i < places->room; i++) {
        const struct check_place *place = &places->items[i];

        if (*place->id && !(place->where & IS_JOB) && place->where & ~tidied)
            check_fault(check, places->keys[place->key],
                        "it names job %s, which is not there", place->id);
    }
}
