/* left_jobs.c - jobs whose client went away before the answer. */
#include "producer/gateway/openai/left_jobs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "schemas/message/id.h"
#include "schemas/redis/transition.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

struct left_job {
    struct left_jobs *all;
    char job[ID_LEN + 1];
    unsigned int partition;
    struct repeat repeat;
    struct alarm *alarm;
    TAILQ_ENTRY(left_job) link;
};

struct left_jobs {
    struct gateway *gateway;
    TAILQ_HEAD(, left_job) list;
};

struct left_jobs *left_jobs_new(struct gateway *gateway)
{
    struct left_jobs *jobs = calloc(1, sizeof(*jobs));

    if (!jobs)
        abort();
    jobs->gateway = gateway;
    TAILQ_INIT(&jobs->list);
    return jobs;
}

static void left_job_free(struct left_job *left)
{
    TAILQ_REMOVE(&left->all->list, left, link);
    alarm_free(left->alarm);
    free(left);
}

void left_jobs_free(struct left_jobs *jobs)
{
    while (jobs && !TAILQ_EMPTY(&jobs->list))
        left_job_free(TAILQ_FIRST(&jobs->list));
    free(jobs);
}

/* False: Redis is away, and the job goes on. */
static bool left_job_call(struct left_job *left, struct command *command,
                          link_done *done)
{
    struct err err;
    bool sent = fleet_links_call(left->all->gateway->links, left->partition,
                                 command, done, left, &err);

    command_finish(command);
    if (sent)
        return true;
    log_line("response.not_cancelled", "{s:s, s:s}", "job", left->job, "why",
             err.text);
    left_job_free(left);
    return false;
}

static void on_cancelled(void *owner, const redisReply *reply,
                         const struct err *why)
{
    (void)reply;
    (void)why;
    left_job_free(owner);
}

static void cancel_left(struct left_job *left)
{
    struct command command;

    transition_cancel(&command, &left->all->gateway->names, view_of(left->job),
                      VIEW("its client went away"));
    left_job_call(left, &command, on_cancelled);
}

/* 0: a repeat has taken the job, and waits for it. */
static void on_settled(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct left_job *left = owner;

    (void)why;
    if (reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)
        cancel_left(left);
    else
        left_job_free(left);
}

static void on_alarm(void *owner)
{
    struct left_job *left = owner;
    struct command command;

    if (*left->repeat.sha256 == '\0') {
        cancel_left(left);
        return;
    }
    repeat_settle_command(&command, &left->repeat, &left->all->gateway->names,
                          view_of(left->job));
    left_job_call(left, &command, on_settled);
}

void left_jobs_add(struct left_jobs *jobs, struct view job,
                   const struct repeat *repeat)
{
    struct left_job *left;

    if (!jobs || repeat->has_key)
        return;
    left = calloc(1, sizeof(*left));
    if (!left)
        abort();
    left->all = jobs;
    left->repeat = *repeat;
    view_copy(left->job, sizeof(left->job), job);
    id_parse(job, &left->partition);
    left->alarm = alarm_new(jobs->gateway->loop, on_alarm, left);
    TAILQ_INSERT_TAIL(&jobs->list, left, link);
    alarm_set(left->alarm, jobs->gateway->settings.foreground_grace_ms);
}
