/* profile.c - what the fleet has learned of its endpoints. */
#include "consumer/queue/profile.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/blob.h"
#include "consumer/log.h"
#include "consumer/queue/jobs.h"
#include "consumer/queue/profile_look.h"
#include "schemas/redis/reply.h"

enum { LOOK_MS = 100, AGAIN_MS = 5000 };

uint64_t profile_now_ms(const struct profile *profile)
{
    return uv_now(profile->consumer->loop);
}

struct endpoint_id profile_id(const struct model_endpoint *endpoint)
{
    char hash[BLOB_NAME_LEN + 1];
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, SIZE_MAX / 2);
    /* With the NUL behind each: none runs into the next. */
    const char *const parts[] = { endpoint->name, endpoint->url,
                                  endpoint->model, endpoint->dialect->name };
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        buf_append(&all, parts[i], strlen(parts[i]) + 1);
    blob_name(buf_view(&all), hash);
    return endpoint_id_make(view_of(endpoint->name), hash);
}

const char *profile_fact(size_t fact)
{
    return fact < QUIRKS ? endpoint_quirk_name(fact) : ENDPOINT_WINDOW;
}

bool profile_refuses(struct profile *profile, const redisReply *reply)
{
    struct err err;
    if (reply == NULL || reply_ok(reply, &err))
        return reply == NULL; /* the link says when it is back */
    if (!profile->refused)
        log_line("profile.refused", "{s:s}", "why", err.text);
    profile->refused = true;
    return true;
}

/* ---------------------------------------------------------------- looking */

/* Those that wait for what is read. */
void profile_go_on(struct profile *profile)
{
    profile->consumer->jobs->on_profile(profile->consumer);
}

void profile_look(struct profile *profile)
{
    if (!profile->looking &&
        profile_now_ms(profile) - profile->looked_ms >= LOOK_MS)
        profile_read(profile);
}

bool profile_is_awaited(const struct profile *profile)
{
    return alarm_is_set(profile->alarm);
}

static void on_alarm(void *owner)
{
    profile_go_on(owner);
}

void profile_renew(struct profile *profile)
{
    profile_read(profile);
}

static void forget_told(struct profile *profile)
{
    const struct endpoints *endpoints = &profile->consumer->endpoints;
    for (size_t i = 0; i < endpoints->count; i++) {
        struct endpoint_shared *shared = &endpoints->items[i]->shared;
        shared->told = 0;
        shared->told_window = 0;
        shared->wait_ms = 0;
    }
    profile->untold = false;
}

/* What was told last may not have arrived, or been lost since. */
void profile_ready(struct profile *profile)
{
    forget_told(profile);
    profile->refused = profile->odd = false;
    profile_read(profile);
}

/* ---------------------------------------------------------------- telling */

/* Its memory is full, or the login may not: that changes while we are there. */
void profile_told(void *owner, const redisReply *reply, const struct err *why)
{
    struct profile *profile = owner;
    (void)why;
    if (profile_refuses(profile, reply) && reply != NULL)
        profile->untold = true;
}

void profile_try_again(struct profile *profile)
{
    uint64_t now = profile_now_ms(profile);
    if (!profile->untold || now - profile->again_ms < AGAIN_MS)
        return;
    profile->again_ms = now;
    forget_told(profile);
}

static void tell(struct profile *profile, const struct command *command)
{
    link_send(profile->link, command, PROFILE_ANSWER_MS, profile_told, profile);
}

static void tell_word(struct profile *profile, const char *word)
{
    struct command command;
    command_init(&command, word);
    tell(profile, &command);
    command_finish(&command);
}

/* In one piece: who is killed meanwhile leaves no key that lives for ever. */
void profile_begin(struct profile *profile)
{
    tell_word(profile, "MULTI");
}

/* which: NX, when it has no time to live yet; or NULL. */
static void end(struct profile *profile, const struct key *key, uint64_t ms,
                const char *which)
{
    struct command command;
    command_init(&command, "PEXPIRE");
    command_add(&command, key_view(key));
    command_add_uint(&command, ms);
    if (which != NULL)
        command_add_text(&command, which);
    tell(profile, &command);
    command_finish(&command);
    tell_word(profile, "EXEC");
}

void profile_end(struct profile *profile, const struct key *key, uint64_t ms)
{
    end(profile, key, ms, NULL);
}

void profile_end_once(struct profile *profile, const struct key *key,
                      uint64_t ms)
{
    end(profile, key, ms, "NX");
}

static void tell_fact(struct profile *profile, const struct endpoint_id *id,
                      size_t fact, uint64_t value)
{
    struct endpoint_field field = endpoint_field_make(id, profile_fact(fact));
    struct command command;
    profile_begin(profile);
    command_init(&command, "HSET");
    command_add(&command, key_view(&profile->facts));
    command_add_text(&command, field.text);
    command_add_uint(&command, value);
    tell(profile, &command);
    command_finish(&command);
    profile_end_once(profile, &profile->facts, PROFILE_DAY_MS);
}

static void tell_wait(struct profile *profile, const struct endpoint_id *id,
                      uint64_t wait_ms)
{
    uint64_t now =
        (uint64_t)((int64_t)profile_now_ms(profile) + profile->ahead_ms);
    struct command command;
    profile_begin(profile);
    command_init(&command, "ZADD");
    command_add(&command, key_view(&profile->waits));
    command_add_text(&command, "GT");
    command_add_uint(&command, now + wait_ms);
    command_add_text(&command, id->text);
    tell(profile, &command);
    command_finish(&command);
    command_init(&command, "ZREMRANGEBYSCORE");
    command_add(&command, key_view(&profile->waits));
    command_add_text(&command, "-inf");
    command_add_uint(&command, now);
    tell(profile, &command);
    command_finish(&command);
    profile_end(profile, &profile->waits, PROFILE_LONGEST_MS + PROFILE_DAY_MS);
}

void profile_tell(struct profile *profile, struct model_endpoint *endpoint)
{
    struct endpoint_shared *shared = &endpoint->shared;
    uint64_t wait_ms =
        breaker_waits(&endpoint->breaker, profile_now_ms(profile));
    uint64_t window = shared->own_window;
    unsigned quirks = endpoint->quirks & ~(shared->told | shared->heard);
    bool has_window = window != shared->told_window && window >= LEAST_WINDOW &&
                      window <= MOST_WINDOW;
    bool waits =
        wait_ms > PROFILE_BRIEF_MS &&
        endpoint->breaker.asked_ms > shared->wait_ms + PROFILE_BRIEF_MS;
    if (!link_is_ready(profile->link) || !profile->knows_clock ||
        !(quirks != 0 || has_window || waits))
        return;
    struct endpoint_id id = profile_id(endpoint);
    for (size_t fact = 0; fact < QUIRKS; fact++)
        if (quirks & 1U << fact)
            tell_fact(profile, &id, fact, 1);
    shared->told |= quirks;
    if (has_window) {
        tell_fact(profile, &id, QUIRKS, window);
        shared->told_window = window;
    }
    if (waits) {
        tell_wait(profile, &id, wait_ms);
        shared->wait_ms = endpoint->breaker.asked_ms;
    }
}

/* ------------------------------------------------------------------- life */

struct profile *profile_new(struct consumer *consumer, struct link *link)
{
    struct profile *profile = calloc(1, sizeof(*profile));
    if (profile == NULL)
        abort();
    *profile = (struct profile){
        .consumer = consumer,
        .link = link,
        .facts = names_of_fleet(&consumer->names, "endpoints"),
        .waits = names_of_fleet(&consumer->names, "waits"),
        .counts = names_of_fleet(&consumer->names, "counts"),
    };
    profile->alarm = alarm_new(consumer->loop, on_alarm, profile);
    profile->counting = alarm_new(consumer->loop, profile_tell_counts, profile);
    return profile;
}

void profile_free(struct profile *profile)
{
    if (profile == NULL)
        return;
    alarm_free(profile->alarm);
    alarm_free(profile->counting);
    free(profile);
}
