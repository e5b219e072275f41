/* profile_look.c - how what the fleet has learned is read. */
#include "consumer/queue/profile_look.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/log.h"

enum { MOST_WAITS = 256 }; /* that are read; the latest */

/* One reading: of the endpoints as they were when it was sent. */
struct look {
    struct profile *profile;
    unsigned pending; /* answers */
    size_t count;
    struct model_endpoint *endpoints[MAX_ENDPOINTS];
};

static void pass_over(struct profile *profile, const char *endpoint,
                      const char *fact)
{
    if (!profile->odd)
        log_line("profile.odd", "{s:s, s:s, s:s}", "model", endpoint, "fact",
                 fact, "text", "what Redis has for it is passed over");
    profile->odd = true;
}

static void hear_fact(struct profile *profile, struct model_endpoint *endpoint,
                      size_t fact, const redisReply *reply)
{
    bool is_window = fact == QUIRKS;
    unsigned quirk = is_window ? 0 : 1U << fact;
    uint64_t least = is_window ? LEAST_WINDOW : 1;
    uint64_t most = is_window ? MOST_WINDOW : 1;
    if (reply->type == REDIS_REPLY_NIL)
        return;
    bool plain = reply->type == REDIS_REPLY_STRING && reply->len > 0 &&
                 reply->len < 10 &&
                 strspn(reply->str, "0123456789") == reply->len;
    uint64_t value = plain ? strtoull(reply->str, NULL, 10) : 0;
    if (value < least || value > most) {
        pass_over(profile, endpoint->name, profile_fact(fact));
        return;
    }
    bool news =
        is_window ? endpoint->window == 0 : !endpoint_has(endpoint, quirk);
    if (news)
        log_line("model.heard", "{s:s, s:s, s:I}", "model", endpoint->name,
                 "fact", profile_fact(fact), "value", (json_int_t)value);
    if (news && is_window)
        endpoint->window = value;
    endpoint->quirks |= quirk;
    if (news) /* our own stays ours to tell */
        endpoint->shared.heard |= quirk;
}

static void look_end(struct look *look)
{
    struct profile *profile = look->profile;
    if (--look->pending > 0)
        return;
    profile->looking = false;
    if (alarm_is_set(profile->alarm)) {
        alarm_stop(profile->alarm);
        profile_go_on(profile);
    }
    for (size_t i = 0; i < look->count; i++)
        endpoint_free(look->endpoints[i]);
    free(look);
}

/* TIME: seconds and microseconds. */
static void on_time(void *owner, const redisReply *reply, const struct err *why)
{
    struct look *look = owner;
    struct profile *profile = look->profile;
    (void)why;
    if (!profile_refuses(profile, reply) && reply->type == REDIS_REPLY_ARRAY &&
        reply->elements == 2) {
        int64_t s = strtoll(reply->element[0]->str, NULL, 10);
        int64_t us = strtoll(reply->element[1]->str, NULL, 10);
        profile->ahead_ms =
            s * 1000 + us / 1000 - (int64_t)profile_now_ms(profile);
        profile->knows_clock = true;
    }
    look_end(look);
}

static void forget_wait(struct profile *profile, const redisReply *member)
{
    struct command command;
    command_init(&command, "ZREM");
    command_add(&command, key_view(&profile->waits));
    command_add(&command, (struct view){ member->str, member->len });
    link_send(profile->link, &command, PROFILE_ANSWER_MS, NULL, NULL);
    command_finish(&command);
}

/* A time that nobody can have asked for would stay, as the latest does. */
static void hear_wait(struct profile *profile, struct model_endpoint *endpoint,
                      const redisReply *member, const redisReply *score)
{
    uint64_t now = profile_now_ms(profile);
    double left =
        strtod(score->str, NULL) - (double)profile->ahead_ms - (double)now;
    if (!(left <= (double)PROFILE_LONGEST_MS)) {
        pass_over(profile, endpoint->name, "until");
        forget_wait(profile, member);
    } else if (left > 0) {
        uint64_t wait = (uint64_t)left;
        struct breaker *breaker = &endpoint->breaker;
        if (wait <= breaker_waits(breaker, now) + PROFILE_BRIEF_MS)
            return; /* ours, by another clock */
        log_line("model.heard", "{s:s, s:s, s:I}", "model", endpoint->name,
                 "fact", "wait_ms", "value", (json_int_t)wait);
        breaker_wait(breaker, now, wait);
        endpoint->shared.wait_ms = breaker->asked_ms;
    }
}

static void on_waits(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct look *look = owner;
    struct profile *profile = look->profile;
    (void)why;
    bool read = !profile_refuses(profile, reply) && profile->knows_clock &&
                reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; i < look->count && read; i++) {
        struct endpoint_id id = profile_id(look->endpoints[i]);
        for (size_t j = 0; j + 1 < reply->elements; j += 2)
            if (strcmp(reply->element[j]->str, id.text) == 0)
                hear_wait(profile, look->endpoints[i], reply->element[j],
                          reply->element[j + 1]);
    }
    look_end(look);
}

/* The last of a look's answers: what is not among them is told. */
static void on_facts(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct look *look = owner;
    (void)why;
    if (!profile_refuses(look->profile, reply) &&
        reply->type == REDIS_REPLY_ARRAY &&
        reply->elements == look->count * PROFILE_FACTS)
        for (size_t i = 0; i < reply->elements; i++)
            hear_fact(look->profile, look->endpoints[i / PROFILE_FACTS],
                      i % PROFILE_FACTS, reply->element[i]);
    for (size_t i = 0; i < look->count && reply != NULL; i++)
        profile_tell(look->profile, look->endpoints[i]);
    look_end(look);
}

/* ----------------------------------------------------------------- asking */

static void add_field(struct buf *fields, const struct endpoint_id *id,
                      size_t fact)
{
    struct endpoint_field field = endpoint_field_make(id, profile_fact(fact));
    buf_append(fields, field.text, strlen(field.text) + 1);
}

static void ask(struct look *look, const struct command *command,
                link_done *done)
{
    look->pending +=
        link_send(look->profile->link, command, PROFILE_ANSWER_MS, done, look);
}

static void ask_facts(struct look *look)
{
    const struct profile *profile = look->profile;
    struct command command;
    CLEANUP(buf_finish) struct buf fields;
    buf_init(&fields, (size_t)MAX_ENDPOINTS * PROFILE_FACTS *
                          (ENDPOINT_FIELD_BYTES + 1));
    for (size_t i = 0; i < look->count; i++) {
        struct endpoint_id id = profile_id(look->endpoints[i]);
        for (size_t fact = 0; fact < PROFILE_FACTS; fact++)
            add_field(&fields, &id, fact);
    }
    command_init(&command, "HMGET");
    command_add(&command, key_view(&profile->facts));
    for (const char *at = fields.data, *end = at + fields.len; at < end;
         at += strlen(at) + 1)
        command_add_text(&command, at);
    ask(look, &command, on_facts);
    command_finish(&command);
}

static void ask_waits(struct look *look)
{
    struct command command;
    command_init(&command, "TIME");
    ask(look, &command, on_time);
    command_finish(&command);
    command_init(&command, "ZRANGE");
    command_add(&command, key_view(&look->profile->waits));
    command_add_uint(&command, 0);
    command_add_uint(&command, MOST_WAITS - 1);
    command_add_text(&command, "REV");
    command_add_text(&command, "WITHSCORES");
    ask(look, &command, on_waits);
    command_finish(&command);
}

void profile_read(struct profile *profile)
{
    const struct endpoints *endpoints = &profile->consumer->endpoints;
    if (!link_is_ready(profile->link) || endpoints->count == 0)
        return;
    struct look *look = calloc(1, sizeof(*look));
    if (look == NULL)
        abort();
    profile_try_again(profile);
    look->profile = profile;
    look->pending = 1; /* this function */
    look->count = endpoints->count;
    for (size_t i = 0; i < look->count; i++)
        look->endpoints[i] = endpoint_take(endpoints->items[i]);
    profile->looking = true;
    profile->looked_ms = profile_now_ms(profile);
    alarm_set(profile->alarm, PROFILE_AWAIT_MS);
    ask_waits(look);
    ask_facts(look);
    look_end(look);
}
