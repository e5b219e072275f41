/* limit.c - what one Redis can take: the very calls of producer and consumer,
 * with nothing else around them.
 *
 * Reads "N VERB" a line, prints the seconds that it took:
 *   submit  N jobs, 32 in a call, without ever a pause
 *   drain   N jobs: take and finish, 32 in a call, without ever a pause
 *
 * limit SOCKET */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "schemas/message/event.h"
#include "schemas/message/id.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"
#include "schemas/message/result.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/transition.h"

enum { STEP = 32, LANES = 2, WAIT_MS = 60000, LEASE_MS = 60000 };

static struct conn *redis;
static struct names names;

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "limit: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static void send_command(struct command *command)
{
    struct err err;

    if (!conn_send(redis, command, WAIT_MS, &err))
        die("sending", &err);
    command_finish(command);
}

static redisReply *receive(void)
{
    struct err err;
    redisReply *reply = conn_receive(redis, WAIT_MS, &err);

    if (!reply || !reply_ok(reply, &err))
        die("a reply", &err);
    return reply;
}

/* ---------------------------------------------------------------- submit */

static struct id next_id(void)
{
    static uint64_t number;
    unsigned char random[8] = { 0 }; /* two of its bits are not the id's */
    struct timespec now;

    memcpy(random + 2, &number, sizeof(random) - 2);
    number++;
    clock_gettime(CLOCK_REALTIME, &now);
    return id_make((uint64_t)now.tv_sec * 1000, 0, random);
}

static void encode_job(const struct id *id, struct buf *bytes)
{
    struct view nothing = VIEW("");
    const struct job job = { .id = view_of(id->text),
                             .kind = JOB_CODE,
                             .cells = { &nothing, 1 } };
    struct err err;

    buf_init(bytes, MAX_JOB_BYTES);
    if (!message_encode(&schema_job, &job, bytes, &err))
        die("a job", &err);
}

static void send_submits(size_t count)
{
    struct id ids[STEP];
    struct buf bodies[STEP];
    struct submit submits[STEP];
    struct command command;

    for (size_t i = 0; i < count; i++) {
        ids[i] = next_id();
        encode_job(&ids[i], &bodies[i]);
        submits[i] = (struct submit){ .id = view_of(ids[i].text),
                                      .body = buf_view(&bodies[i]) };
    }
    transition_submit_many(&command, &names, 0, submits, count);
    send_command(&command);
    for (size_t i = 0; i < count; i++)
        buf_finish(&bodies[i]);
}

static void take_submits(void)
{
    redisReply *reply = receive();
    struct view id;
    bool existed;
    struct err err;

    for (size_t i = 0; i < reply->elements; i++)
        if (!transition_submitted(reply->element[i], &id, &existed, &err))
            die("a submit", &err);
    freeReplyObject(reply);
}

static void submit_all(long count)
{
    enum { CALLS = 8 };
    long owed = 0;

    for (long sent = 0; sent < count || owed > 0;) {
        for (; sent < count && owed < CALLS; owed++) {
            long rest = count - sent;
            send_submits(rest < STEP ? (size_t)rest : STEP);
            sent += rest < STEP ? rest : STEP;
        }
        for (; owed > (sent < count ? CALLS / 2 : 0); owed--)
            take_submits();
    }
}

/* ----------------------------------------------------------------- drain */

struct held {
    char id[ID_LEN + 1];
    uint64_t epoch;
};

/* The lanes take turns, so that Redis has the calls of one while we read the
 * replies to those of the other. */
struct lane {
    struct held jobs[STEP];
    size_t count;
};

static void send_take(void)
{
    static const struct view queues[] = { VIEW_INIT("default") };
    static uint64_t ticket;
    const struct take take = { .consumer = VIEW("limit"),
                               .lease_ms = LEASE_MS,
                               .count = STEP,
                               .ticket = ++ticket,
                               .queues = queues,
                               .queue_count = 1 };
    struct command command;

    transition_take(&command, &names, 0, &take);
    send_command(&command);
}

/* What one ends with: the same for all, but for the id. */
static void write_end(const struct held *job, struct buf *bytes,
                      struct buf *event)
{
    const struct result result = { .id = view_of(job->id),
                                   .status = STATE_COMPLETED,
                                   .attempts = 1,
                                   .timings = { .queued = 100, .total = 100 } };
    const struct event_data data = { .ms = 100 };
    struct err err;

    buf_init(bytes, MAX_RESULT_BYTES);
    buf_init(event, MAX_EVENT_BYTES);
    if (!message_encode(&schema_result, &result, bytes, &err) ||
        !message_encode(&schema_event_data, &data, event, &err))
        die("a result", &err);
}

static void send_finishes(const struct held *jobs, size_t count)
{
    struct buf bytes[STEP], events[STEP];
    struct finish finishes[STEP] = { 0 };
    struct command command;

    for (size_t i = 0; i < count; i++) {
        write_end(&jobs[i], &bytes[i], &events[i]);
        finishes[i] = (struct finish){
            .lease = { view_of(jobs[i].id), jobs[i].epoch },
            .state = STATE_COMPLETED,
            .result = buf_view(&bytes[i]),
            .event_data = buf_view(&events[i]),
        };
    }
    transition_finish_many(&command, &names, 0, finishes, count);
    send_command(&command);
    for (size_t i = 0; i < count; i++) {
        buf_finish(&bytes[i]);
        buf_finish(&events[i]);
    }
}

static void send_lane(const struct lane *lane)
{
    if (lane->count > 0)
        send_finishes(lane->jobs, lane->count);
    send_take();
}

static void take_jobs(struct lane *lane)
{
    redisReply *reply = receive();
    size_t count;
    struct err err;

    if (!transition_taken(reply, &count, &err))
        die("take", &err);
    for (size_t i = 0; i < count; i++) {
        struct held *job = &lane->jobs[lane->count++];
        struct take_reply started;

        if (!transition_take_reply(reply->element[i], &started, &err))
            die("a job", &err);
        assert(started.run);
        snprintf(job->id, sizeof(job->id), "%.*s", VIEW_ARG(started.id));
        job->epoch = started.epoch;
    }
    freeReplyObject(reply);
}

static void receive_finished(size_t count)
{
    redisReply *reply = receive();
    struct err err;

    if (!transition_finished_many(reply, count, &err))
        die("finish", &err);
    for (size_t i = 0; i < count; i++)
        if (!reply_ok(reply->element[i], &err))
            die("an end", &err);
    freeReplyObject(reply);
}

/* How many jobs were finished. */
static long take_lane(struct lane *lane)
{
    long finished = (long)lane->count;

    if (lane->count > 0)
        receive_finished(lane->count);
    lane->count = 0;
    take_jobs(lane);
    return finished;
}

static void drain_all(long count)
{
    static struct lane lanes[LANES];
    size_t at = 0;

    for (size_t i = 0; i < LANES; i++)
        send_lane(&lanes[i]);
    for (long finished = 0; finished < count; at = (at + 1) % LANES) {
        finished += take_lane(&lanes[at]);
        send_lane(&lanes[at]);
    }
    for (size_t i = 0; i < LANES; i++)
        take_lane(&lanes[(at + i) % LANES]);
}

/* ------------------------------------------------------------------ main */

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct address address;
    struct err err;
    char line[64], verb[16];
    long count;

    if (argc != 2 || !address_parse(&address, view_of(argv[1]), &err) ||
        !names_init(&names, "quern:", &err))
        return EXIT_FAILURE;
    redis = conn_new(&address, 0, "limit");
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) &&
           sscanf(line, "%ld %15s", &count, verb) == 2) {
        double start_s = now_s();

        if (strcmp(verb, "drain") == 0)
            drain_all(count);
        else
            submit_all(count);
        printf("%.6f\n", now_s() - start_s);
        fflush(stdout);
    }
    conn_free(redis);
    address_finish(&address);
    return EXIT_SUCCESS;
}
