/* key.c - keys of quern-gateway: made, listed, replaced, removed. They belong
 * to no partition: the hash "keys" has the SHA-256 of each by its id, and
 * key:<sha256> what it allows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "producer/client/api_key.h"
#include "producer/client/fleet.h"
#include "producer/client/quern_operate.h"
#include "schemas/redis/reply.h"

static const char *const scope_words[] = { "submit", "read", "operate",
                                           "admin" };
static const char *const facts[] = { "id",     "tenant",     "name",
                                     "scopes", "created_at", "expires_at",
                                     "rate",   "jobs",       "cost" };
enum { FACTS = sizeof(facts) / sizeof(facts[0]) };
enum { RANDOM_TEXT = 17, CLAIM_MS = 60000 };

static uint64_t key_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct key place_of_key(const struct quern *quern, const char *what,
                               struct view sha256)
{
    char name[96];

    snprintf(name, sizeof(name), "%s:%.*s", what, VIEW_ARG(sha256));
    return names_of_fleet(&quern->fleet->names, name);
}

static struct key key_of_hash(const struct quern *quern, struct view sha256)
{
    return place_of_key(quern, "key", sha256);
}

/* Finishes the command. What it writes need not be durable. */
static redisReply *key_ask(struct quern *quern, struct command *command,
                           struct err *err)
{
    redisReply *reply = handle_call_fleet(quern, command, err);

    command_finish(command);
    return reply;
}

/* Finishes the command. */
static bool key_change(struct quern *quern, struct command *command,
                       struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply = handle_write_fleet(quern, command, err);

    command_finish(command);
    return reply;
}

static void random_text(char text[RANDOM_TEXT])
{
    unsigned char random[8];

    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        abort();
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(text + 2 * i, 3, "%02x", random[i]);
}

/* ------------------------------------------------------------------ reading */

static void key_read(struct quern_key *key, const redisReply *reply)
{
    *key = (struct quern_key){ .id = "" };
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != FACTS)
        return;
    view_copy(key->id, sizeof(key->id), reply_view(reply->element[0]));
    view_copy(key->tenant, sizeof(key->tenant), reply_view(reply->element[1]));
    view_copy(key->name, sizeof(key->name), reply_view(reply->element[2]));
    view_copy(key->scopes, sizeof(key->scopes), reply_view(reply->element[3]));
    key->created_at = reply_number(reply->element[4]);
    key->expires_at = reply_number(reply->element[5]);
    key->rate = reply_number(reply->element[6]);
    key->jobs = reply_number(reply->element[7]);
    key->cost = reply_number(reply->element[8]);
}

static bool key_load(struct quern *quern, struct view sha256,
                     struct quern_key *key, struct err *err)
{
    const struct key place = key_of_hash(quern, sha256);
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct command command;

    command_init(&command, "HMGET");
    command_add(&command, key_view(&place));
    for (size_t i = 0; i < FACTS; i++)
        command_add_text(&command, facts[i]);
    reply = key_ask(quern, &command, err);
    if (!reply)
        return false;
    key_read(key, reply);
    return true;
}

static redisReply *all_of(struct quern *quern, const char *hash,
                          struct err *err)
{
    const struct key place = names_of_fleet(&quern->fleet->names, hash);
    struct command command;

    command_init(&command, "HGETALL");
    command_add(&command, key_view(&place));
    return key_ask(quern, &command, err);
}

static bool remove_field(struct quern *quern, const char *hash,
                         struct view field, struct err *err)
{
    const struct key place = names_of_fleet(&quern->fleet->names, hash);
    struct command command;

    command_init(&command, "HDEL");
    command_add(&command, key_view(&place));
    command_add(&command, field);
    return key_change(quern, &command, err);
}

static bool remove_place(struct quern *quern, struct key place, struct err *err)
{
    struct command command;

    command_init(&command, "DEL");
    command_add(&command, key_view(&place));
    return key_change(quern, &command, err);
}

/* What is left of a key whose record is gone. */
static bool forget_key(struct quern *quern, struct view id, struct view sha256,
                       struct err *err)
{
    return remove_place(quern, place_of_key(quern, "key_jobs", sha256), err) &&
           remove_field(quern, "keys_used", sha256, err) &&
           remove_field(quern, "keys", id, err);
}

static void keys_add(struct quern_keys *keys, const struct quern_key *key)
{
    keys->items = list_grow(keys->items, keys->count, sizeof(*keys->items));
    keys->items[keys->count++] = *key;
}

/* The record of a key expires with it; what else there is of it is removed
 * here. */
static bool keys_read(struct quern *quern, const char *tenant,
                      struct quern_keys *keys, struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *all = all_of(quern, "keys", err);
    CLEANUP(cleanup_reply) redisReply *used = NULL;

    if (!all || !(used = all_of(quern, "keys_used", err)))
        return false;
    for (size_t i = 0; i + 1 < all->elements; i += 2) {
        const struct view id = reply_view(all->element[i]);
        const struct view sha256 = reply_view(all->element[i + 1]);
        struct quern_key key;
        char hash[65];

        view_copy(hash, sizeof(hash), sha256);
        if (!key_load(quern, sha256, &key, err))
            return false;
        key.last_used_at = reply_field_number(used, hash);
        if (key.id[0] == '\0' && !forget_key(quern, id, sha256, err))
            return false;
        if (key.id[0] != '\0' && (!tenant || strcmp(tenant, key.tenant) == 0))
            keys_add(keys, &key);
    }
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct quern_key *one = a, *other = b;

    if (one->created_at != other->created_at)
        return one->created_at < other->created_at ? -1 : 1;
    return strcmp(one->id, other->id);
}

bool quern_keys(struct quern *quern, const char *tenant,
                struct quern_keys *keys, struct quern_error *error)
{
    struct err err = { 0 };

    *keys = (struct quern_keys){ .count = 0 };
    if (!keys_read(quern, tenant, keys, &err)) {
        free(keys->items);
        *keys = (struct quern_keys){ .count = 0 };
        return handle_fail(error, &err);
    }
    if (keys->count > 0)
        qsort(keys->items, keys->count, sizeof(*keys->items), compare_keys);
    return true;
}

/* ------------------------------------------------------------------- making */

static bool is_scope(struct view word)
{
    for (size_t i = 0; i < sizeof(scope_words) / sizeof(scope_words[0]); i++)
        if (view_is(word, scope_words[i]))
            return true;
    return false;
}

/* "submit, read" as "submit read". */
static bool read_scopes(const char *text, char scopes[QUERN_KEY_SCOPES],
                        struct err *err)
{
    size_t used = 0;

    scopes[0] = '\0';
    while (*text) {
        size_t len = strcspn(text, ", ");

        if (len > 0 && !is_scope((struct view){ text, len }))
            return err_set(
                err, ERR_REJECT, "bad_argument",
                "scope is \"%.*s\", must be submit, read, operate or "
                "admin",
                (int)(len < 40 ? len : 40), text);
        if (len > 0 && used + len + 2 < QUERN_KEY_SCOPES)
            used +=
                (size_t)snprintf(scopes + used, QUERN_KEY_SCOPES - used,
                                 "%s%.*s", used > 0 ? " " : "", (int)len, text);
        text += len + (text[len] != '\0');
    }
    return used > 0 || err_set(err, ERR_REJECT, "bad_argument",
                               "scopes: a key needs one at least: submit, "
                               "read, operate, admin");
}

static bool write_record(struct quern *quern, const struct quern_key *key,
                         struct view sha256, struct err *err)
{
    const struct key place = key_of_hash(quern, sha256);
    struct command command;

    command_init(&command, "HSET");
    command_add(&command, key_view(&place));
    command_add_text(&command, "id");
    command_add_text(&command, key->id);
    command_add_text(&command, "tenant");
    command_add_text(&command, key->tenant);
    command_add_text(&command, "name");
    command_add_text(&command, key->name);
    command_add_text(&command, "scopes");
    command_add_text(&command, key->scopes);
    command_add_text(&command, "created_at");
    command_add_uint(&command, key->created_at);
    command_add_text(&command, "expires_at");
    command_add_uint(&command, key->expires_at);
    command_add_text(&command, "rate");
    command_add_uint(&command, key->rate);
    command_add_text(&command, "jobs");
    command_add_uint(&command, key->jobs);
    command_add_text(&command, "cost");
    command_add_uint(&command, key->cost);
    return key_change(quern, &command, err);
}

static bool write_expiry(struct quern *quern, const struct quern_key *key,
                         struct view sha256, struct err *err)
{
    const struct key place = key_of_hash(quern, sha256);
    struct command command;

    if (key->expires_at == 0)
        return true;
    command_init(&command, "PEXPIREAT");
    command_add(&command, key_view(&place));
    command_add_uint(&command, key->expires_at);
    return key_change(quern, &command, err);
}

static bool write_id(struct quern *quern, const struct quern_key *key,
                     struct view sha256, struct err *err)
{
    const struct key place = names_of_fleet(&quern->fleet->names, "keys");
    struct command command;

    command_init(&command, "HSET");
    command_add(&command, key_view(&place));
    command_add_text(&command, key->id);
    command_add(&command, sha256);
    return key_change(quern, &command, err);
}

/* The id last: who lists keys meanwhile forgets an id without a record. A
 * record without an id is of a key that nobody was given. */
static bool key_write(struct quern *quern, struct quern_key *key,
                      char secret[QUERN_KEY], struct err *err)
{
    struct sha256 hash;

    memcpy(key->id, "key_", 4);
    random_text(key->id + 4);
    api_key_make(secret);
    hash = blob_sha256(view_of(secret));
    return write_record(quern, key, view_of(hash.text), err) &&
           write_expiry(quern, key, view_of(hash.text), err) &&
           write_id(quern, key, view_of(hash.text), err);
}

static bool check_limit(const char *name, uint64_t value, uint64_t max,
                        struct err *err)
{
    return value <= max ||
           err_set(err, ERR_REJECT, "too_large",
                   "%s is %llu, the highest is %llu", name,
                   (unsigned long long)value, (unsigned long long)max);
}

bool quern_key_add(struct quern *quern, const struct quern_new_key *wanted,
                   struct quern_key *key, char secret[QUERN_KEY],
                   struct quern_error *error)
{
    struct view tenant =
        names_or_default(view_of(wanted->tenant ? wanted->tenant : ""));
    struct view name = view_of(wanted->name ? wanted->name : "");
    struct err err = { 0 };

    *key = (struct quern_key){ .created_at = key_now_ms(),
                               .rate = wanted->rate,
                               .jobs = wanted->jobs,
                               .cost = wanted->cost };
    if (wanted->life_ms > 0)
        key->expires_at = key->created_at + wanted->life_ms;
    view_copy(key->tenant, sizeof(key->tenant), tenant);
    view_copy(key->name, sizeof(key->name), name);
    return (label_check("tenant", tenant, &err) &&
            (name.len == 0 || label_check("name", name, &err)) &&
            read_scopes(wanted->scopes, key->scopes, &err) &&
            check_limit("rate", wanted->rate, QUERN_KEY_MOST_RATE, &err) &&
            check_limit("jobs", wanted->jobs, QUERN_KEY_MOST_JOBS, &err) &&
            check_limit("cost", wanted->cost, QUERN_KEY_MOST_COST, &err) &&
            key_write(quern, key, secret, &err)) ||
           handle_fail(error, &err);
}

/* -------------------------------------------------------- replaced, removed */

/* Gateways forget what they remember of the key. When the message is lost, they
 * do so after --key-cache-time: that is no failure. */
static void tell_gateways(struct quern *quern, const struct sha256 *hash)
{
    bool is_cluster = quern->fleet->address.kind == ADDRESS_CLUSTER;
    const struct key channel = api_key_channel(&quern->fleet->names);
    struct command command;
    struct err lost;

    command_init(&command, is_cluster ? "SPUBLISH" : "PUBLISH");
    command_add(&command, key_view(&channel));
    command_add_text(&command, hash->text);
    freeReplyObject(key_ask(quern, &command, &lost));
}

/* The SHA-256 of the key of that id. */
static bool key_find(struct quern *quern, const char *id, struct sha256 *hash,
                     struct err *err)
{
    const struct key place = names_of_fleet(&quern->fleet->names, "keys");
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct command command;

    command_init(&command, "HGET");
    command_add(&command, key_view(&place));
    command_add_text(&command, id);
    reply = key_ask(quern, &command, err);
    if (!reply)
        return false;
    view_copy(hash->text, sizeof(hash->text), reply_view(reply));
    return hash->text[0] != '\0' ||
           err_set(err, ERR_REJECT, "unknown_key", "there is no key %.40s", id);
}

/* A record that has ended is found by its id until keys are listed. */
static bool check_whole(const struct quern_key *key, const char *id,
                        struct err *err)
{
    return key->id[0] != '\0' ||
           err_set(err, ERR_REJECT, "unknown_key", "there is no key %.64s", id);
}

bool quern_key_show(struct quern *quern, const char *id, struct quern_key *key,
                    struct quern_error *error)
{
    struct sha256 hash;
    struct err err = { 0 };

    return (key_find(quern, id, &hash, &err) &&
            key_load(quern, view_of(hash.text), key, &err) &&
            check_whole(key, id, &err)) ||
           handle_fail(error, &err);
}

/* Writes the end alone: of a record that was removed just now this is no key
 * that opens anything, and it ends, too. */
static bool end_record(struct quern *quern, const struct quern_key *key,
                       struct view sha256, struct err *err)
{
    const struct key place = key_of_hash(quern, sha256);
    struct command command;

    command_init(&command, "HSET");
    command_add(&command, key_view(&place));
    command_add_text(&command, "expires_at");
    command_add_uint(&command, key->expires_at);
    command_add_text(&command, "replaced");
    command_add_text(&command, "1");
    return key_change(quern, &command, err) &&
           write_expiry(quern, key, sha256, err);
}

static bool claim_set(struct quern *quern, struct key place, const char *claim,
                      struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct command command;

    command_init(&command, "SET");
    command_add(&command, key_view(&place));
    command_add_text(&command, claim);
    command_add_text(&command, "NX");
    command_add_text(&command, "PX");
    command_add_uint(&command, CLAIM_MS);
    reply = key_ask(quern, &command, err);
    return reply;
}

/* Of two that replace the key at the same time one goes on. The claim is read
 * back: who lost the answer to its SET finds that it has the claim. */
static bool claim_rotation(struct quern *quern, struct view sha256,
                           struct err *err)
{
    const struct key place = place_of_key(quern, "key_rotated", sha256);
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    char claim[RANDOM_TEXT];
    struct command command;

    random_text(claim);
    if (!claim_set(quern, place, claim, err))
        return false;
    command_init(&command, "GET");
    command_add(&command, key_view(&place));
    reply = key_ask(quern, &command, err);
    return reply &&
           (view_is(reply_view(reply), claim) ||
            err_set(err, ERR_REJECT, "already_rotated",
                    "the key was replaced, or somebody tries to: when it has "
                    "no end in a minute, it may be replaced again"));
}

/* A second rotation would end the first one's successor with the old key. */
static bool check_not_replaced(struct quern *quern, struct view sha256,
                               struct err *err)
{
    const struct key place = key_of_hash(quern, sha256);
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct command command;

    command_init(&command, "HEXISTS");
    command_add(&command, key_view(&place));
    command_add_text(&command, "replaced");
    reply = key_ask(quern, &command, err);
    return reply &&
           (reply->integer == 0 ||
            err_set(err, ERR_REJECT, "already_rotated",
                    "the key was replaced before: it ends, and another one has "
                    "its place"));
}

bool quern_key_rotate(struct quern *quern, const char *id, uint64_t grace_ms,
                      struct quern_key *key, char secret[QUERN_KEY],
                      struct quern_error *error)
{
    uint64_t ends_at = key_now_ms() + (grace_ms > 0 ? grace_ms : 1);
    struct quern_key old;
    struct sha256 hash;
    struct err err = { 0 };

    if (!check_limit("grace", grace_ms, QUERN_KEY_MOST_GRACE, &err) ||
        !key_find(quern, id, &hash, &err) ||
        !claim_rotation(quern, view_of(hash.text), &err) ||
        !key_load(quern, view_of(hash.text), &old, &err) ||
        !check_whole(&old, id, &err) ||
        !check_not_replaced(quern, view_of(hash.text), &err))
        return handle_fail(error, &err);
    *key = old;
    key->created_at = key_now_ms();
    if (old.expires_at == 0 || old.expires_at > ends_at)
        old.expires_at = ends_at;
    if (!key_write(quern, key, secret, &err) ||
        !end_record(quern, &old, view_of(hash.text), &err))
        return handle_fail(error, &err);
    tell_gateways(quern, &hash);
    return true;
}

bool quern_key_remove(struct quern *quern, const char *id,
                      struct quern_error *error)
{
    struct sha256 hash;
    struct err err = { 0 };
    bool is_done;

    if (!key_find(quern, id, &hash, &err))
        return handle_fail(error, &err);
    is_done = remove_place(quern, key_of_hash(quern, view_of(hash.text)), &err);
    if (is_done || strcmp(err.code, "not_durable") == 0)
        tell_gateways(quern, &hash);
    return (is_done &&
            forget_key(quern, view_of(id), view_of(hash.text), &err)) ||
           handle_fail(error, &err);
}
