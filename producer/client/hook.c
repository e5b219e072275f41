/* hook.c - webhooks: listed, added, rotated, tried out, removed. They are in
 * the partition of their tenant, as its jobs are. */
#include "schemas/redis/hook.h"

#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "producer/client/draft.h"
#include "producer/client/fleet.h"

enum { SECRET_BYTES = 32 };

/* A webhook by its tenant and its id. */
struct hook_place {
    struct view tenant;
    struct view id;
    unsigned int partition;
};

static bool find_tenant(struct quern *quern, const char *tenant,
                        struct hook_place *place, struct err *err)
{
    place->tenant = view_of(tenant && *tenant ? tenant : "default");
    return label_check("tenant", place->tenant, err) &&
           handle_partition(quern, place->tenant, &place->partition, err);
}

static bool find_hook(struct quern *quern, const char *tenant, const char *id,
                      struct hook_place *place, struct err *err)
{
    if (!hook_id_is_valid(view_of(id)))
        return err_set(err, ERR_REJECT, "bad_field",
                       "webhook is \"%.40s\", must be hook_ and 16 digits of "
                       "0-9 a-f",
                       id);
    place->id = view_of(id);
    return find_tenant(quern, tenant, place, err);
}

static bool hook_unknown(const struct hook_place *place, struct err *err)
{
    return err_set(err, ERR_REJECT, "unknown_hook",
                   "tenant %.*s has no webhook %.*s", VIEW_ARG(place->tenant),
                   VIEW_ARG(place->id));
}

/* ------------------------------------------------------------------ the list
 */

static void take_text(const json_t *hook, const char *name, char *text,
                      size_t size)
{
    const char *value = json_string_value(json_object_get(hook, name));

    view_copy(text, size, view_of(value ? value : ""));
}

static uint64_t take_number(const json_t *hook, const char *name)
{
    double value = json_number_value(json_object_get(hook, name));

    return value > 0 && value < 9e15 ? (uint64_t)value : 0;
}

static void hook_read(struct quern_hook *hook, struct view id, struct view json)
{
    json_t *said = json_loadb(json.data, json.len, 0, NULL);

    view_copy(hook->id, sizeof(hook->id), id);
    take_text(said, "url", hook->url, sizeof(hook->url));
    take_text(said, "name", hook->name, sizeof(hook->name));
    take_text(said, "events", hook->events, sizeof(hook->events));
    take_text(said, "reason", hook->reason, sizeof(hook->reason));
    take_text(said, "last_why", hook->last_why, sizeof(hook->last_why));
    hook->disabled = json_is_true(json_object_get(said, "disabled"));
    hook->created_at = take_number(said, "created_at");
    hook->last_at = take_number(said, "last_at");
    hook->last_status = take_number(said, "last_status");
    hook->failures = take_number(said, "failures");
    json_decref(said);
}

static int by_creation(const void *a, const void *b)
{
    const struct quern_hook *one = a, *other = b;

    if (one->created_at != other->created_at)
        return one->created_at < other->created_at ? -1 : 1;
    return strcmp(one->id, other->id);
}

static struct quern_hook *add_listed(struct quern_hooks *hooks)
{
    hooks->items = list_grow(hooks->items, hooks->count, sizeof(*hooks->items));
    return &hooks->items[hooks->count++];
}

static bool read_hooks(struct quern *quern, const char *tenant,
                       struct quern_hooks *hooks, struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct hook_place place = { .partition = 0 };
    struct command command;
    size_t count;

    if (!find_tenant(quern, tenant, &place, err))
        return false;
    hook_list(&command, &quern->fleet->names, place.partition, place.tenant);
    reply = handle_call(quern, place.partition, &command, err);
    command_finish(&command);
    if (!reply || !hook_listed(reply, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        redisReply **part = &reply->element[3 * i];
        struct quern_hook *hook = add_listed(hooks);

        hook_read(hook, reply_view(part[0]), reply_view(part[1]));
        hook->secrets = (uint64_t)part[2]->integer;
    }
    return true;
}

/* Of the hash alone, without the secrets. */
static bool read_hooks_public(struct quern *quern, const char *tenant,
                              struct quern_hooks *hooks, struct err *err)
{
    static const char *const no_words[] = { NULL };
    struct hook_place place = { .partition = 0 };
    char name[8 + sizeof(struct encoded_label)];
    struct key key;

    if (!find_tenant(quern, tenant, &place, err))
        return false;
    snprintf(name, sizeof(name), "hooks:%s", names_encode(place.tenant).text);
    key = names_of_root(&quern->fleet->names, place.partition, name);
    CLEANUP(cleanup_reply)
    redisReply *reply =
        fleet_read(quern, place.partition, "HGETALL", &key, no_words, err);
    for (size_t i = 0; reply && i + 1 < reply->elements; i += 2)
        hook_read(add_listed(hooks), reply_view(reply->element[i]),
                  reply_view(reply->element[i + 1]));
    return reply;
}

static bool settle_hooks(bool good, struct quern_hooks *hooks,
                         const struct err *err, struct quern_error *error)
{
    if (!good) {
        free(hooks->items);
        *hooks = (struct quern_hooks){ 0 };
        return handle_fail(error, err);
    }
    if (hooks->count > 0)
        qsort(hooks->items, hooks->count, sizeof(*hooks->items), by_creation);
    return true;
}

bool quern_hooks(struct quern *quern, const char *tenant,
                 struct quern_hooks *hooks, struct quern_error *error)
{
    struct err err = { 0 };

    *hooks = (struct quern_hooks){ 0 };
    return settle_hooks(read_hooks(quern, tenant, hooks, &err), hooks, &err,
                        error);
}

bool quern_hooks_public(struct quern *quern, const char *tenant,
                        struct quern_hooks *hooks, struct quern_error *error)
{
    struct err err = { 0 };

    *hooks = (struct quern_hooks){ 0 };
    return settle_hooks(read_hooks_public(quern, tenant, hooks, &err), hooks,
                        &err, error);
}

/* ------------------------------------------------------------------- changes
 */

static bool random_bytes(unsigned char *bytes, size_t size, struct err *err)
{
    return getrandom(bytes, size, 0) == (ssize_t)size ||
           err_set(err, ERR_RETRY, "internal", "getrandom: %s",
                   strerror(errno));
}

static bool make_id(char id[QUERN_HOOK_ID], struct err *err)
{
    unsigned char random[(HOOK_ID_BYTES - 5) / 2];

    if (!random_bytes(random, sizeof(random), err))
        return false;
    snprintf(id, QUERN_HOOK_ID, "hook_");
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(id + 5 + 2 * i, 3, "%02x", random[i]);
    return true;
}

static bool make_secret(char secret[QUERN_HOOK_SECRET], struct err *err)
{
    unsigned char random[SECRET_BYTES];

    if (!random_bytes(random, sizeof(random), err))
        return false;
    snprintf(secret, QUERN_HOOK_SECRET, "whsec_");
    EVP_EncodeBlock((unsigned char *)secret + 6, random, sizeof(random));
    return true;
}

/* What can be told of a URL here; whether it may be connected to is the
 * deliverer's to say. */
static bool check_url(const char *url, struct err *err)
{
    size_t len = strlen(url), head = strncmp(url, "https://", 8) == 0  ? 8
                                     : strncmp(url, "http://", 7) == 0 ? 7
                                                                       : 0;

    if (len > HOOK_URL_BYTES)
        return err_set(err, ERR_REJECT, "bad_field",
                       "url has %zu bytes, at most %d", len, HOOK_URL_BYTES);
    if (head == 0 || strcspn(url + head, "/?#") == 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "url is \"%.100s\", must begin with https:// and a host",
                       url);
    if (memchr(url + head, '@', strcspn(url + head, "/?#")))
        return err_set(err, ERR_REJECT, "bad_field",
                       "url has a user in front of its host: quern signs its "
                       "requests and sends no password");
    return true;
}

static bool change_hook(struct quern *quern, const struct hook_place *place,
                        const struct hook_change *change, struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct command command;

    hook_set(&command, &quern->fleet->names, place->partition, place->tenant,
             place->id, change);
    reply = handle_write(quern, place->partition, &command, err);
    command_finish(&command);
    if (reply && reply_ok(reply, err))
        return true;
    return strcmp(err->code, "unknown_job") == 0 ? hook_unknown(place, err)
                                                 : false;
}

static bool add_hook(struct quern *quern, const char *tenant,
                     const struct quern_new_hook *hook,
                     struct quern_hook_key *key, struct err *err)
{
    const struct hook_change change = { .url = hook->url,
                                        .secret = key->secret,
                                        .name = hook->name,
                                        .events = hook->events };
    struct hook_place place = { .partition = 0 };

    return check_url(hook->url, err) && make_id(key->id, err) &&
           make_secret(key->secret, err) &&
           find_hook(quern, tenant, key->id, &place, err) &&
           change_hook(quern, &place, &change, err);
}

bool quern_hook_add(struct quern *quern, const char *tenant,
                    const struct quern_new_hook *hook,
                    struct quern_hook_key *key, struct quern_error *error)
{
    struct err err = { 0 };

    return add_hook(quern, tenant, hook, key, &err) || handle_fail(error, &err);
}

bool quern_hook_rotate(struct quern *quern, const char *tenant, const char *id,
                       uint64_t keep_ms, char secret[QUERN_HOOK_SECRET],
                       struct quern_error *error)
{
    const struct hook_change change = { .secret = secret, .keep_ms = keep_ms };
    struct hook_place place = { .partition = 0 };
    struct err err = { 0 };

    return (make_secret(secret, &err) &&
            find_hook(quern, tenant, id, &place, &err) &&
            change_hook(quern, &place, &change, &err)) ||
           handle_fail(error, &err);
}

bool quern_hook_enable(struct quern *quern, const char *tenant, const char *id,
                       struct quern_error *error)
{
    const struct hook_change change = { .disabled = "0" };
    struct hook_place place = { .partition = 0 };
    struct err err = { 0 };

    return (find_hook(quern, tenant, id, &place, &err) &&
            change_hook(quern, &place, &change, &err)) ||
           handle_fail(error, &err);
}

/* Sends the command and finishes it. */
static bool act_on_hook(struct quern *quern, const struct hook_place *place,
                        struct command *command, struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply = handle_write(quern, place->partition, command, err);
    bool was;

    command_finish(command);
    if (!reply || !hook_was_there(reply, &was, err))
        return false;
    return was || hook_unknown(place, err);
}

bool quern_hook_test(struct quern *quern, const char *tenant, const char *id,
                     struct quern_error *error)
{
    struct hook_place place = { .partition = 0 };
    struct command command;
    struct quern_id job;
    struct err err = { 0 };

    if (!find_hook(quern, tenant, id, &place, &err) ||
        !draft_new_id(place.partition, &job, &err))
        return handle_fail(error, &err);
    hook_test(&command, &quern->fleet->names, place.partition, place.tenant,
              place.id, view_of(job.text));
    return act_on_hook(quern, &place, &command, &err) ||
           handle_fail(error, &err);
}

bool quern_hook_remove(struct quern *quern, const char *tenant, const char *id,
                       struct quern_error *error)
{
    struct hook_place place = { .partition = 0 };
    struct command command;
    struct err err = { 0 };

    if (!find_hook(quern, tenant, id, &place, &err))
        return handle_fail(error, &err);
    hook_remove(&command, &quern->fleet->names, place.partition, place.tenant,
                place.id);
    return act_on_hook(quern, &place, &command, &err) ||
           handle_fail(error, &err);
}

/* ------------------------------------------------------------- what waits */

/* When the first entry was made, which its id says: "<ms>-<number>". */
static bool read_oldest(struct quern *quern, unsigned int partition,
                        uint64_t *at, struct err *err)
{
    struct key key =
        names_of_root(&quern->fleet->names, partition, "deliveries");
    CLEANUP(cleanup_reply)
    redisReply *entries = FLEET_READ(quern, partition, "XRANGE", &key, err, "-",
                                     "+", "COUNT", "1");

    *at = 0;
    if (entries && entries->type == REDIS_REPLY_ARRAY &&
        entries->elements == 1 &&
        entries->element[0]->type == REDIS_REPLY_ARRAY &&
        entries->element[0]->elements > 0 &&
        entries->element[0]->element[0]->type == REDIS_REPLY_STRING)
        *at = strtoull(entries->element[0]->element[0]->str, NULL, 10);
    return entries;
}

static bool read_waiting(struct quern *quern, uint64_t *oldest_ms,
                         struct err *err)
{
    uint64_t first = 0, at, now;
    unsigned int partitions;

    if (!handle_partitions(quern, &partitions, err))
        return false;
    for (unsigned int p = 0; p < partitions; p++) {
        if (!read_oldest(quern, p, &at, err))
            return false;
        if (at > 0 && (first == 0 || at < first))
            first = at;
    }
    if (!fleet_now(quern, &now, err))
        return false;
    *oldest_ms = first > 0 && now > first ? now - first : 0;
    return true;
}

bool quern_hooks_waiting(struct quern *quern, uint64_t *oldest_ms,
                         struct quern_error *error)
{
    struct err err = { 0 };

    *oldest_ms = 0;
    return read_waiting(quern, oldest_ms, &err) || handle_fail(error, &err);
}
