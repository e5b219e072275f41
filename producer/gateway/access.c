/* access.c - whose a request is, and what it may do.
 *
 *   key ──▶ SHA-256 ──▶ cache ──known, or known to be none──▶ outcome
 *                         │ else                                 ▲
 *                         ▼                                      │
 *                       Redis: <prefix>{<prefix>fleet}:key:<sha256>
 *
 * Redis has no key, only its hash. What it says is remembered (key_cache.h). */
#include "producer/gateway/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/client/api_key.h"
#include "producer/client/fleet.h"
#include "producer/gateway/browser.h"
#include "producer/gateway/cors.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/key_cache.h"
#include "producer/gateway/request_key.h"
#include "producer/gateway/route.h"
#include "schemas/redis/reply.h"

enum { MINUTE_MS = 60 * 1000 }; /* in which requests are counted */

struct access {
    struct gateway *gateway;
    struct access_caller open; /* of requests without a key; no scopes: none */
    struct key_cache *cache;
    unsigned int holds; /* by calls on their way, and the gateway */
};

/* One look-up that is on its way; it may outlive the access. */
struct key_look {
    struct access *access;
    access_done *done;
    void *owner;
    struct sha256 hash;
    uint64_t changes; /* of the cache, when it began */
    bool is_again;    /* no request: it is not counted */
};

/* The fields that are read, and their places in the reply. */
static const char *const fields[] = { "tenant",   "scopes", "expires_at",
                                      "disabled", "rate",   "jobs",
                                      "cost" };
enum {
    KEY_TENANT,
    KEY_SCOPES,
    KEY_EXPIRES,
    KEY_DISABLED,
    KEY_RATE,
    KEY_JOBS,
    KEY_COST,
    KEY_FIELDS
};

/* ----------------------------------------------------------------- outcomes */

static void access_deny(access_done *done, void *owner, unsigned int status,
                        const char *code, const char *text)
{
    struct access_outcome outcome = { .status = status };

    err_set(&outcome.err, ERR_REJECT, code, "%s", text);
    done(owner, &outcome);
}

uint64_t access_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One request more of a key with a rate; it may outlive the access. */
struct key_count {
    struct access *access;
    access_done *done;
    void *owner;
    struct access_caller caller;
    uint64_t rate, now_ms;
};

static void access_drop(struct access *access);

/* number: of this request in its minute. */
static void settle_rate(const struct key_count *count, uint64_t number)
{
    uint64_t left_ms = MINUTE_MS - count->now_ms % MINUTE_MS;
    bool is_over = number > count->rate;
    struct access_outcome outcome = {
        .caller = is_over ? NULL : &count->caller,
        .rate = { .limit = count->rate,
                  .remaining = is_over ? 0 : count->rate - number,
                  .resets_at = count->now_ms + left_ms },
    };

    if (is_over) {
        outcome.status = 429;
        outcome.after_ms = left_ms;
        err_set(&outcome.err, ERR_RETRY, "rate_limit_exceeded",
                "the key may make %llu requests a minute",
                (unsigned long long)count->rate);
    }
    count->done(count->owner, &outcome);
}

static void on_counted(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct key_count *count = owner;
    struct access_outcome outcome = { .status = 503, .after_ms = 1000 };

    if (!reply)
        outcome.err = *why;
    if (!reply || !reply_ok(reply, &outcome.err)) {
        count->done(count->owner, &outcome);
    } else {
        settle_rate(count, reply_number(reply));
    }
    access_drop(count->access);
    free(count);
}

/* All gateways count in the same key, which lives as long as its minute. */
static void count_request(struct access *access, const struct known_key *key,
                          access_done *done, void *owner)
{
    struct access_outcome away = { .status = 503, .after_ms = 1000 };
    struct key_count *count = malloc(sizeof(*count));
    struct command command;
    struct key place;
    char what[96];

    if (!count)
        abort();
    *count = (struct key_count){ access,      done,      owner,
                                 key->caller, key->rate, access_now_ms() };
    snprintf(what, sizeof(what), "rate:%s:%llu", key->hash.text,
             (unsigned long long)(count->now_ms / MINUTE_MS));
    place = names_of_fleet(&access->gateway->names, what);
    command_init(&command, "INCR");
    command_add(&command, key_view(&place));
    if (fleet_links_call(access->gateway->links, FLEET_SLOT, &command,
                         on_counted, count, &away.err)) {
        access->holds++;
        command_finish(&command);
        command_init(&command, "EXPIRE");
        command_add(&command, key_view(&place));
        command_add_uint(&command, 2 * MINUTE_MS / 1000);
        fleet_links_tell(access->gateway->links, FLEET_SLOT, &command,
                         "the end of a minute's count");
    } else {
        free(count);
        done(owner, &away);
    }
    command_finish(&command);
}

/* For `quern key ls`. */
static void note_use(struct access *access, const struct sha256 *hash)
{
    struct command command;
    struct key place;

    if (!key_cache_is_note_due(access->cache, hash))
        return;
    place = names_of_fleet(&access->gateway->names, "keys_used");
    command_init(&command, "HSET");
    command_add(&command, key_view(&place));
    command_add_text(&command, hash->text);
    command_add_uint(&command, access_now_ms());
    fleet_links_tell(access->gateway->links, FLEET_SLOT, &command,
                     "the last use of a key");
    command_finish(&command);
}

/* One sentence for all: nobody is to learn which keys there were. is_again: it
 * is no request. */
static void access_settle(struct access *access, const struct known_key *key,
                          bool is_again, access_done *done, void *owner)
{
    struct access_outcome outcome = { .caller = &key->caller };
    bool is_over = key->expires_at > 0 && key->expires_at <= access_now_ms();

    if (key->caller.scopes == 0 || is_over) {
        access_deny(done, owner, 401, "invalid_api_key",
                    "the key is not valid: unknown, expired or removed");
        return;
    }
    note_use(access, &key->hash);
    if (key->rate > 0 && !is_again)
        count_request(access, key, done, owner);
    else
        done(owner, &outcome);
}

static void access_drop(struct access *access)
{
    if (--access->holds > 0)
        return;
    key_cache_free(access->cache);
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
    key->rate = reply_number(reply->element[KEY_RATE]);
    key->caller.max_jobs = reply_number(reply->element[KEY_JOBS]);
    key->caller.max_cost = reply_number(reply->element[KEY_COST]);
    key->caller.key = key->hash;
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
        if (look->changes == key_cache_changes(look->access->cache))
            key_cache_put(look->access->cache, &key);
        access_settle(look->access, &key, look->is_again, look->done,
                      look->owner);
    }
    access_drop(look->access);
    free(look);
}

static void look_up(struct access *access, const struct sha256 *hash,
                    bool is_again, access_done *done, void *owner)
{
    struct access_outcome away = { .status = 503, .after_ms = 1000 };
    struct key_look *look = malloc(sizeof(*look));
    struct command command;
    struct key key;
    char what[80];

    if (!look)
        abort();
    *look = (struct key_look){
        access, done, owner, *hash, key_cache_changes(access->cache), is_again
    };
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

/* False: the request names it in a wrong way. With --open a cookie does not
 * count: browsers send it to every port of a host, so it may be of another
 * gateway. */
static bool key_of(const struct access *access,
                   const struct http_exchange *exchange,
                   struct request_key *key, struct err *err)
{
    struct view authorization, plain;

    if (!http_request_value(exchange, "Authorization", &authorization, err) ||
        !http_request_value(exchange, "X-Api-Key", &plain, err) ||
        !request_key_read(key, authorization, plain, err))
        return false;
    if (key->text.len == 0 && authorization.len == 0 &&
        access->open.scopes == 0)
        key->text = browser_key(exchange);
    return true;
}

static void check_hash(struct access *access, const struct sha256 *hash,
                       bool is_again, access_done *done, void *owner)
{
    const struct known_key *known = key_cache_find(access->cache, hash);

    if (known)
        access_settle(access, known, is_again, done, owner);
    else
        look_up(access, hash, is_again, done, owner);
}

void access_check_key(struct access *access, struct view key, access_done *done,
                      void *owner)
{
    const struct sha256 hash = blob_sha256(key);

    check_hash(access, &hash, false, done, owner);
}

void access_check_again(struct access *access, const struct sha256 *key,
                        access_done *done, void *owner)
{
    struct access_outcome open = { .caller = &access->open };

    if (key->text[0] == '\0')
        done(owner, &open);
    else
        check_hash(access, key, true, done, owner);
}

/* "127.0.0.1", "[::1]", "[::1]:8088". Letters alone could be a domain: 1a.ee.
 */
static bool is_address(struct view name)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char text[64];

    if (name.len > 0 && *name.data == '[') {
        const char *end = memchr(name.data, ']', name.len);

        view_copy(text, sizeof(text),
                  (struct view){ name.data + 1,
                                 end ? (size_t)(end - name.data) - 1 : 0 });
        return inet_pton(AF_INET6, text, bytes) == 1;
    }
    if (name.len >= sizeof(text))
        return false;
    view_copy(text, sizeof(text), name);
    return inet_pton(AF_INET, text, bytes) == 1;
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
    return view_is_caseless(name, "localhost") || is_address(name);
}

/* Without keys nothing but this keeps out the web pages that a browser on this
 * host shows. */
static bool is_web_page(const struct access *access,
                        const struct http_exchange *exchange)
{
    const char *origins = access->gateway->settings.cors_origins;
    struct view origin, host;
    struct err err;

    if (!http_request_value(exchange, "Origin", &origin, &err) ||
        !http_request_value(exchange, "Host", &host, &err))
        return true;
    return (origin.len > 0 && !browser_is_own_page(exchange) &&
            !cors_allows(origins, origin)) ||
           (*http_request_address(exchange) != '\0' && !is_own_host(host));
}

/* With --open, what does not look like a key of quern counts for none: clients
 * that must have one send any text. */
void access_check(struct access *access, const struct http_exchange *exchange,
                  access_done *done, void *owner)
{
    struct access_outcome open = { .caller = &access->open };
    struct request_key brought = { .text = { "", 0 } };
    struct err err;
    bool good = key_of(access, exchange, &brought, &err);
    struct view key = brought.text;
    bool is_open = access->open.scopes != 0 && !view_starts(key, "qk_");

    if (!good)
        access_deny(done, owner, 401, "invalid_api_key", err.text);
    else if (api_key_is_sound(key))
        access_check_key(access, key, done, owner);
    else if (is_open && is_web_page(access, exchange))
        access_deny(done, owner, 403, "foreign_origin",
                    "with --open a gateway serves no web pages of others: the "
                    "request has an Origin, or its Host is no name of this "
                    "host");
    else if (is_open)
        done(owner, &open);
    else if (key.len == 0)
        access_deny(done, owner, 401, "no_key",
                    "the request has no key: send \"Authorization: Bearer "
                    "KEY\"");
    else
        access_deny(done, owner, 401, "invalid_api_key",
                    "this is no key: keys are \"qk_\" and 36 letters and "
                    "digits, of which the last six check the others");
}

struct access *access_new(struct gateway *gateway)
{
    struct access *access = calloc(1, sizeof(*access));

    if (!access)
        abort();
    access->gateway = gateway;
    access->holds = 1;
    access->cache = key_cache_new(gateway);
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

void access_switch(struct access *access, const struct node *master)
{
    if (access)
        key_cache_switch(access->cache, master);
}
