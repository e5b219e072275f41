/* access.c - whose a request is, and what it may do. */
#include "producer/gateway/access.h"

#include <stdio.h>
#include <stdlib.h>

#include "producer/gateway/route.h"

struct access {
    struct gateway *gateway;
    struct access_caller
        open; /* of requests without a key; no scopes: none is */
};

static void access_deny(access_done *done, void *owner, unsigned int status,
                        const char *code, const char *text)
{
    struct access_outcome outcome = { .status = status };

    err_set(&outcome.err, ERR_REJECT, code, "%s", text);
    done(owner, &outcome);
}

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

void access_check(struct access *access, const struct http_exchange *exchange,
                  access_done *done, void *owner)
{
    struct access_outcome open = { .caller = &access->open };
    struct view key;
    struct err err;

    if (!key_of(exchange, &key, &err))
        access_deny(done, owner, 401, "bad_key", err.text);
    else if (access->open.scopes != 0)
        done(owner, &open);
    else if (key.len == 0)
        access_deny(done, owner, 401, "no_key",
                    "the request has no key: send \"Authorization: Bearer "
                    "KEY\"");
    else
        access_deny(done, owner, 401, "bad_key", "the key is not valid");
}

struct access *access_new(struct gateway *gateway)
{
    struct access *access = calloc(1, sizeof(*access));

    if (!access)
        abort();
    access->gateway = gateway;
    if (*gateway->settings.open_tenant) {
        access->open.scopes = SCOPE_SUBMIT | SCOPE_READ | SCOPE_OPERATE;
        snprintf(access->open.tenant, sizeof(access->open.tenant), "%s",
                 gateway->settings.open_tenant);
    }
    return access;
}

void access_free(struct access *access)
{
    free(access);
}
