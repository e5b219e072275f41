/* access.c - whose a request is, and what it may do.
 *
 *   key ──▶ SHA-256 ──▶ cache ──known, or known to be none──▶ outcome
 *                         │ else                                 ▲
 *                         ▼                                      │
 *                       Redis: <prefix>{<prefix>fleet}:key:<sha256>
 *
 * Redis has no key, only its hash. What it says is remembered for
 * --key-cache-time, so a key that was removed works for so long at most. */
#include "producer/gateway/access.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/route.h"
#include "schemas/redis/reply.h"

enum {
    MOST_REMEMBERED = 10000, /* keys; the oldest one goes first */
    KEY_CHARACTERS = 36,     /* behind the prefix: 30 of chance, 6 of check */
};

#define KEY_PREFIX "qk_"

/* What is remembered of a key. */
struct known_key {
    struct sha256 hash;
    struct access_caller caller; /* no scopes: there is no such key */
    uint64_t expires_at;         /* ms since 1970; 0: never */
    uint64_t until;              /* the loop's clock */
    TAILQ_ENTRY(known_key) by_age;
};

struct access {
    struct gateway *gateway;
    struct access_caller open; /* of requests without a key; no scopes: none */
    void *keys;                /* search tree, by hash */
    TAILQ_HEAD(, known_key) ages; /* the oldest first */
    size_t count;
    unsigned int holds; /* by look-ups on their way, and the gateway */
};

/* One look-up that is on its way; it may outlive the access. */
struct key_look {
    struct access *access;
    access_done *done;
    void *owner;
    struct sha256 hash;
};

/* The fields that are read, and their places in the reply. */
static const char *const fields[] = { "tenant", "scopes", "expires_at",
                                      "disabled" };
enum { KEY_TENANT, KEY_SCOPES, KEY_EXPIRES, KEY_DISABLED, KEY_FIELDS };

/* ----------------------------------------------------------------- outcomes */

static void access_deny(access_done *done, void *owner, unsigned int status,
                        const char *code, const char *text)
{
    struct access_outcome outcome = { .status = status };

    err_set(&outcome.err, ERR_REJECT, code, "%s", text);
    done(owner, &outcome);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One sentence for all: nobody is to learn which keys there were. */
static void access_settle(const struct known_key *key, access_done *done,
                          void *owner)
{
    struct access_outcome outcome = { .caller = &key->caller };
    bool is_over = key->expires_at > 0 && key->expires_at <= now_ms();

    if (key->caller.scopes != 0 && !is_over)
        done(owner, &outcome);
    else
        access_deny(done, owner, 401, "bad_key",
                    "the key is not valid: unknown, expired or removed");
}

/* -------------------------------------------------------------------- cache */

static int compare_keys(const void *a, const void *b)
{
    const struct known_key *one = a, *other = b;

    return strcmp(one->hash.text, other->hash.text);
}

static void forget_key(struct access *access, struct known_key *key)
{
    tdelete(key, &access->keys, compare_keys);
    TAILQ_REMOVE(&access->ages, key, by_age);
    access->count--;
    free(key);
}

/* NULL: not remembered, or for too long. */
static struct known_key *recall_key(struct access *access,
                                    const struct sha256 *hash)
{
    struct known_key wanted, **found;

    wanted.hash = *hash;
    found = tfind(&wanted, &access->keys, compare_keys);
    if (!found)
        return NULL;
    if (uv_now(access->gateway->loop) < (*found)->until)
        return *found;
    forget_key(access, *found);
    return NULL;
}

static void remember_key(struct access *access, const struct known_key *key)
{
    struct known_key *old = recall_key(access, &key->hash);
    struct known_key *own = malloc(sizeof(*own));

    if (!own)
        abort();
    if (old)
        forget_key(access, old);
    if (access->count == MOST_REMEMBERED)
        forget_key(access, TAILQ_FIRST(&access->ages));
    *own = *key;
    own->until =
        uv_now(access->gateway->loop) + access->gateway->settings.key_cache_ms;
    if (!tsearch(own, &access->keys, compare_keys))
        abort();
    TAILQ_INSERT_TAIL(&access->ages, own, by_age);
    access->count++;
}

static void access_drop(struct access *access)
{
    if (--access->holds > 0)
        return;
    while (!TAILQ_EMPTY(&access->ages))
        forget_key(access, TAILQ_FIRST(&access->ages));
    free(access);
}

/* ------------------------------------------------------------------ look-up */

/* Words with commas or spaces between them. A word that this build does not
 * know allows nothing here. */
static unsigned int read_scopes(struct view words)
{
    unsigned int scopes = 0;

    while (words.len > 0) {
        size_t len = 0;

        while (len < words.len && !byte_is_of(words.data[len], ", "))
            len++;
        scopes |= scope_of_word((struct view){ words.data, len });
        len += len < words.len;
        words.data += len;
        words.len -= len;
    }
    return scopes;
}

static void known_key_read(struct known_key *key, const redisReply *reply)
{
    struct view tenant = reply_view(reply->element[KEY_TENANT]);

    if (!label_is_valid(tenant) ||
        reply_number(reply->element[KEY_DISABLED]) != 0)
        return;
    view_copy(key->caller.tenant, sizeof(key->caller.tenant), tenant);
    key->caller.scopes = read_scopes(reply_view(reply->element[KEY_SCOPES]));
    key->expires_at = reply_number(reply->element[KEY_EXPIRES]);
}

static void on_key(void *owner, const redisReply *reply, const struct err *why)
{
    struct key_look *look = owner;
    struct access_outcome away = { .status = 503, .after_ms = 1000 };
    struct known_key key = { .expires_at = 0 };

    if (!reply)
        away.err = *why;
    if (!reply || !reply_ok(reply, &away.err) ||
        reply->type != REDIS_REPLY_ARRAY || reply->elements != KEY_FIELDS) {
        look->done(look->owner, &away);
    } else {
        key.hash = look->hash;
        known_key_read(&key, reply);
        remember_key(look->access, &key);
        access_settle(&key, look->done, look->owner);
    }
    access_drop(look->access);
    free(look);
}

static void look_up(struct access *access, const struct sha256 *hash,
                    access_done *done, void *owner)
{
    struct access_outcome away = { .status = 503, .after_ms = 1000 };
    struct key_look *look = malloc(sizeof(*look));
    struct command command;
    struct key key;
    char what[80];

    if (!look)
        abort();
    *look = (struct key_look){ access, done, owner, *hash };
    snprintf(what, sizeof(what), "key:%s", hash->text);
    key = names_of_fleet(&access->gateway->names, what);
    command_init(&command, "HMGET");
    command_add(&command, key_view(&key));
    for (size_t i = 0; i < KEY_FIELDS; i++)
        command_add_text(&command, fields[i]);
    if (fleet_links_call(access->gateway->links, FLEET_SLOT, &command, on_key,
                         look, &away.err)) {
        access->holds++;
    } else {
        free(look);
        done(owner, &away);
    }
    command_finish(&command);
}

/* -------------------------------------------------------------- the request */

/* "Bearer TEXT", of which the first word has no case. */
static bool bearer_of(struct view value, struct view *key)
{
    static const char word[] = "bearer ";
    size_t len = sizeof(word) - 1;

    if (value.len < len || strncasecmp(value.data, word, len) != 0)
        return false;
    *key = view_trimmed((struct view){ value.data + len, value.len - len });
    return true;
}

/* *key: "" when there is none. False: the request names it in a wrong way. */
static bool key_of(const struct http_exchange *exchange, struct view *key,
                   struct err *err)
{
    struct view bearer, plain;

    *key = (struct view){ "", 0 };
    if (!http_request_value(exchange, "Authorization", &bearer, err) ||
        !http_request_value(exchange, "X-Api-Key", &plain, err))
        return false;
    if (bearer.len > 0 && plain.len > 0)
        return err_set(err, ERR_REJECT, "bad_key",
                       "the request has both Authorization and X-Api-Key");
    if (plain.len > 0)
        *key = plain;
    return bearer.len == 0 || bearer_of(bearer, key) ||
           err_set(err, ERR_REJECT, "bad_key",
                   "Authorization should be \"Bearer KEY\"");
}

/* The form alone: what is no key is refused without asking Redis. */
static bool key_is_sound(struct view key)
{
    size_t skip = sizeof(KEY_PREFIX) - 1;

    if (!view_starts(key, KEY_PREFIX) || key.len != skip + KEY_CHARACTERS)
        return false;
    for (size_t i = skip; i < key.len; i++)
        if (!byte_is_of(key.data[i], "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
            return false;
    return true;
}

static void check_key(struct access *access, struct view key, access_done *done,
                      void *owner)
{
    const struct sha256 hash = blob_sha256(key);
    const struct known_key *known = recall_key(access, &hash);

    if (known)
        access_settle(known, done, owner);
    else
        look_up(access, &hash, done, owner);
}

/* A name that only this host can have given itself: a web page elsewhere may
 * give its own name our address, and so reach us from a browser here. */
static bool is_own_host(struct view host)
{
    struct view name = host;

    if (host.len > 0 && *host.data != '[')
        for (size_t i = 0; i < host.len; i++)
            if (host.data[i] == ':')
                name.len = i;
    for (size_t i = 0; i < name.len; i++)
        if (!byte_is_of(name.data[i], "0123456789abcdefABCDEF.:[]"))
            return name.len == 9 && strncasecmp(name.data, "localhost", 9) == 0;
    return name.len > 0 && (*name.data == '[' || byte_is_of(*name.data, //
                                                            "0123456789"));
}

/* Without keys nothing but this keeps out the web pages that a browser on this
 * host shows. */
static bool is_web_page(const struct http_exchange *exchange)
{
    struct view origin, host;
    struct err err;

    if (!http_request_value(exchange, "Origin", &origin, &err) ||
        !http_request_value(exchange, "Host", &host, &err))
        return true;
    return origin.len > 0 ||
           (*http_request_address(exchange) != '\0' && !is_own_host(host));
}

/* With --open, what is no key of quern counts for none: clients that must have
 * one send any text. */
void access_check(struct access *access, const struct http_exchange *exchange,
                  access_done *done, void *owner)
{
    struct access_outcome open = { .caller = &access->open };
    struct view key;
    struct err err;

    if (!key_of(exchange, &key, &err))
        access_deny(done, owner, 401, "bad_key", err.text);
    else if (key_is_sound(key))
        check_key(access, key, done, owner);
    else if (access->open.scopes != 0 && is_web_page(exchange))
        access_deny(done, owner, 403, "foreign_origin",
                    "with --open a gateway serves no web pages of others: the "
                    "request has an Origin, or its Host is no name of this "
                    "host");
    else if (access->open.scopes != 0)
        done(owner, &open);
    else if (key.len == 0)
        access_deny(done, owner, 401, "no_key",
                    "the request has no key: send \"Authorization: Bearer "
                    "KEY\"");
    else
        access_deny(done, owner, 401, "bad_key",
                    "this is no key: keys are \"qk_\" and 36 letters and "
                    "digits");
}

struct access *access_new(struct gateway *gateway)
{
    struct access *access = calloc(1, sizeof(*access));

    if (!access)
        abort();
    access->gateway = gateway;
    access->holds = 1;
    TAILQ_INIT(&access->ages);
    if (*gateway->settings.open_tenant) {
        access->open.scopes = SCOPE_SUBMIT | SCOPE_READ | SCOPE_OPERATE;
        snprintf(access->open.tenant, sizeof(access->open.tenant), "%s",
                 gateway->settings.open_tenant);
    }
    return access;
}

void access_free(struct access *access)
{
    if (access)
        access_drop(access);
}
