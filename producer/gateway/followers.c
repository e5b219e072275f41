/* followers.c - the jobs that are followed, and the connections that hear of
 * them. */
#include "producer/gateway/followers.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/followers_state.h"
#include "producer/gateway/http/event_stream.h"
#include "schemas/message/result.h"
#include "schemas/redis/reply.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum {
    TICK_MS = 250,
    SLICES = 8, /* ticks in which all feeds are visited, while none is urgent */
    SILENCE_MS = 5000, /* without a message of a job its facts are read: the
                          message may have been lost ... */
    LOOK_EVERY_MS = 5, /* ... but not more than one job in so long */
};

uint64_t followers_now(const struct followers *followers)
{
    return uv_now(followers->gateway->loop);
}

static bool is_sharded(const struct followers *followers)
{
    return followers->gateway->redis.kind == ADDRESS_CLUSTER;
}

/* -------------------------------------------------------------------- feeds */

static int compare_feeds(const void *a, const void *b)
{
    const struct job_feed *one = a, *other = b;

    return strcmp(one->id.text, other->id.text);
}

static struct job_feed *feed_find(const struct followers *followers,
                                  struct view id)
{
    struct job_feed wanted = { 0 };
    void *found;

    if (id.len != ID_LEN)
        return NULL;
    memcpy(wanted.id.text, id.data, id.len);
    found = tfind(&wanted, &followers->feeds, compare_feeds);
    return found ? *(struct job_feed **)found : NULL;
}

static void be_quiet(struct job_feed *feed)
{
    uint64_t silence_ms = feed->all->feed_count * LOOK_EVERY_MS;

    feed->look_at = followers_now(feed->all) +
                    (silence_ms < SILENCE_MS ? SILENCE_MS : silence_ms);
}

static struct link *ear_link(struct followers *followers,
                             unsigned int partition);

static void followers_drop(void *owner)
{
    struct followers *followers = owner;

    if (--followers->holds > 0)
        return;
    http_bytes_free(followers->comment);
    free(followers);
}

struct job_feed *followers_feed(struct followers *followers, struct view id)
{
    struct job_feed *feed = feed_find(followers, id);
    struct key channel;

    if (feed)
        return feed;
    feed = calloc(1, sizeof(*feed));
    if (!feed)
        abort();
    feed->all = followers;
    memcpy(feed->id.text, id.data, ID_LEN);
    id_parse(id, &feed->partition);
    TAILQ_INIT(&feed->list);
    TAILQ_INSERT_TAIL(&followers->list, feed, of_all);
    if (!tsearch(feed, &followers->feeds, compare_feeds))
        abort();
    followers->feed_count++;
    followers->holds++;
    be_quiet(feed);
    channel = names_events(&followers->gateway->names, view_of(feed->id.text));
    link_subscribe(ear_link(followers, feed->partition), key_view(&channel));
    return feed;
}

void followers_release(struct job_feed *feed)
{
    struct followers *followers = feed->all;
    struct key channel;

    if (!TAILQ_EMPTY(&feed->list))
        return;
    channel = names_events(&followers->gateway->names, view_of(feed->id.text));
    if (!followers->freeing)
        link_unsubscribe(ear_link(followers, feed->partition),
                         key_view(&channel));
    if (followers->next_feed == feed)
        followers->next_feed = TAILQ_NEXT(feed, of_all);
    TAILQ_REMOVE(&followers->list, feed, of_all);
    tdelete(feed, &followers->feeds, compare_feeds);
    followers->feed_count--;
    for (size_t i = 0; i < FOLLOWERS_RECENT; i++)
        http_bytes_free(feed->recent[i].bytes);
    free(feed);
    followers_drop(followers);
}

static void wake_all(struct job_feed *feed)
{
    struct job_follower *follower;

    TAILQ_FOREACH(follower, &feed->list, of_feed)
    job_follower_wake(follower);
}

/* --------------------------------------------------------------------- ears */

/* A channel ends in the id of its job. */
static struct job_feed *feed_of_channel(const struct followers *followers,
                                        struct view channel)
{
    if (channel.len < ID_LEN)
        return NULL;
    return feed_find(
        followers,
        (struct view){ channel.data + channel.len - ID_LEN, ID_LEN });
}

static void on_subscribed(void *owner, struct view channel)
{
    struct job_ear *ear = owner;
    struct job_feed *feed = feed_of_channel(ear->all, channel);

    if (!feed || ear->all->freeing)
        return;
    feed->is_subscribed = true;
    wake_all(feed);
    alarm_set(ear->all->soon, 0);
}

static void on_push(void *owner, const redisReply *message)
{
    struct job_ear *ear = owner;
    struct job_feed *feed =
        feed_of_channel(ear->all, reply_view(message->element[1]));

    if (!feed || ear->all->freeing)
        return;
    be_quiet(feed);
    job_feed_hear(feed, reply_view(message->element[2]));
}

static void on_ear_lost(void *owner, const struct err *why)
{
    struct job_ear *ear = owner;
    struct job_feed *feed;

    log_line("redis.lost", "{s:s}", "why", why->text);
    TAILQ_FOREACH(feed, &ear->all->list, of_all)
    if (!is_sharded(ear->all) || feed->partition == ear->partition)
        feed->is_subscribed = false;
}

static struct link *ear_link(struct followers *followers,
                             unsigned int partition)
{
    struct link_events events = { .on_push = on_push,
                                  .on_subscribed = on_subscribed,
                                  .on_lost = on_ear_lost };
    const struct gateway *gateway = followers->gateway;
    struct job_ear *ear =
        &followers->ears[is_sharded(followers) ? partition : 0];

    if (ear->link)
        return ear->link;
    ear->all = followers;
    ear->partition = partition;
    ear->link = link_new(gateway->loop, &gateway->redis,
                         names_slot(&gateway->names, partition),
                         "gateway-events", events, ear);
    followers->holds++;
    link_open(ear->link);
    return ear->link;
}

void followers_switch(struct followers *followers, const struct node *master)
{
    for (size_t i = 0; followers && i < NAMES_MAX_PARTITIONS; i++)
        if (followers->ears[i].link)
            link_switch(followers->ears[i].link, master);
}

/* ------------------------------------------------------------------ silence */

/* The reply may come when the feed is gone. */
struct feed_look {
    struct followers *followers;
    struct id id;
};

static void heed_look(struct job_feed *feed, const redisReply *reply)
{
    struct quern_status status = { 0 };
    struct job_follower *follower;
    struct err err;

    feed->is_looking = false;
    if (!reply || !reply_ok(reply, &err))
        return;
    bool known = status_told(reply, view_of(feed->id.text), &status, &err);
    TAILQ_FOREACH(follower, &feed->list, of_feed)
    if (follower->state == FOLLOWER_LIVE &&
        (!known || follower->job->last != status.seq ||
         quern_state_is_terminal(status.state)))
        job_follower_wake(follower);
    job_followers_read(feed->all);
}

static void on_looked(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct feed_look *look = owner;
    struct job_feed *feed = feed_find(look->followers, view_of(look->id.text));

    (void)why;
    if (feed && !look->followers->freeing)
        heed_look(feed, reply);
    followers_drop(look->followers);
    free(look);
}

static void look_at_facts(struct job_feed *feed)
{
    struct feed_look *look = malloc(sizeof(*look));
    struct command command;
    struct err err;

    if (!look)
        abort();
    *look = (struct feed_look){ feed->all, feed->id };
    status_ask(&command, &feed->all->gateway->names, view_of(feed->id.text));
    feed->is_looking =
        fleet_links_call(feed->all->gateway->links, feed->partition, &command,
                         on_looked, look, &err);
    command_finish(&command);
    if (feed->is_looking)
        feed->all->holds++;
    else
        free(look);
    be_quiet(feed);
}

/* --------------------------------------------------------------------- tick */

static void tick_follower(struct job_follower *follower, uint64_t now)
{
    if (follower->state == FOLLOWER_PAUSED && now >= follower->again_at)
        job_follower_wake(follower);
    if (now < follower->beat_at)
        return;
    follower->beat_at = now + FOLLOWERS_BEAT_MS;
    if (follower->events->on_beat && !follower->is_over)
        follower->events->on_beat(follower->owner,
                                  follower->feed->all->comment);
}

static void tick_feed(struct job_feed *feed, uint64_t now)
{
    struct job_follower *follower;

    TAILQ_FOREACH(follower, &feed->list, of_feed)
    tick_follower(follower, now);
    if (now >= feed->look_at && !feed->is_looking)
        look_at_facts(feed);
    job_feed_sweep(feed);
}

static void on_tick(void *owner)
{
    struct followers *followers = owner;
    uint64_t now = followers_now(followers);
    size_t count = followers->feed_count;

    /* Ten thousand at once would hold up the loop for 20 ms. */
    if (followers->urgent == 0)
        count = (count + SLICES - 1) / SLICES;
    for (; count > 0 && !TAILQ_EMPTY(&followers->list); count--) {
        struct job_feed *feed = followers->next_feed;

        if (!feed)
            feed = TAILQ_FIRST(&followers->list);
        followers->next_feed = TAILQ_NEXT(feed, of_all);
        tick_feed(feed, now);
    }
    job_followers_read(followers);
    alarm_set(followers->tick, TICK_MS);
}

static void on_soon(void *owner)
{
    job_followers_read(owner);
}

/* --------------------------------------------------------------------- life */

struct followers *followers_new(struct gateway *gateway)
{
    struct followers *followers = calloc(1, sizeof(*followers));

    if (!followers)
        abort();
    followers->gateway = gateway;
    TAILQ_INIT(&followers->list);
    TAILQ_INIT(&followers->due);
    followers->holds = 1;
    followers->comment = event_stream_comment();
    followers->soon = alarm_new(gateway->loop, on_soon, followers);
    followers->tick = alarm_new(gateway->loop, on_tick, followers);
    alarm_set(followers->tick, TICK_MS);
    return followers;
}

/* The owners of followers have left before: the server has drained. Calls that
 * are on their way are answered by fleet_links_free(). */
static void leave_all(struct followers *followers)
{
    struct job_feed *next;

    for (struct job_feed *at = TAILQ_FIRST(&followers->list); at; at = next) {
        next = TAILQ_NEXT(at, of_all);
        job_feed_sweep(at);
    }
}

void followers_free(struct followers *followers)
{
    if (!followers)
        return;
    followers->freeing = true;
    leave_all(followers);
    alarm_free(followers->tick);
    alarm_free(followers->soon);
    for (size_t i = 0; i < NAMES_MAX_PARTITIONS; i++)
        if (followers->ears[i].link)
            link_free(followers->ears[i].link, followers_drop, followers);
    followers_drop(followers);
}
