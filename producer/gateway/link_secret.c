/* link_secret.c - the secret by which links are signed: the same for all
 * gateways of a fleet. */
#include "producer/gateway/link_secret.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"

enum { REMEMBER_MS = 60 * 1000 };

static void ask_secret(struct api_request *request, api_request_reply *done)
{
    struct key key = names_of_fleet(&request->gateway->names, "link_secret");
    struct command command;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    api_request_call(request, FLEET_SLOT, &command, done);
    command_finish(&command);
}

static void on_secret(struct api_request *request, const redisReply *reply)
{
    struct gateway *gateway = request->gateway;
    struct view secret = reply_view(reply);
    struct err err;

    if (secret.len != sizeof(gateway->link_secret)) {
        err_set(&err, ERR_REJECT, "internal",
                "the secret of links in Redis has %zu bytes, should have %zu",
                secret.len, sizeof(gateway->link_secret));
        api_request_refuse(request, &err);
        return;
    }
    memcpy(gateway->link_secret, secret.data, secret.len);
    gateway->link_secret_until = uv_now(gateway->loop) + REMEMBER_MS;
    request->signing(request);
}

/* Another gateway may have been first: what Redis has then counts. */
static void on_made(struct api_request *request, const redisReply *reply)
{
    (void)reply;
    ask_secret(request, on_secret);
}

static void make_secret(struct api_request *request)
{
    struct key key = names_of_fleet(&request->gateway->names, "link_secret");
    unsigned char secret[LINK_SECRET_BYTES];
    struct command command;

    if (RAND_bytes(secret, sizeof(secret)) != 1)
        abort();
    command_init(&command, "SET");
    command_add(&command, key_view(&key));
    command_add_copy(&command,
                     (struct view){ (const char *)secret, sizeof(secret) });
    command_add_text(&command, "NX");
    api_request_call(request, FLEET_SLOT, &command, on_made);
    command_finish(&command);
}

static void on_asked(struct api_request *request, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_NIL)
        make_secret(request);
    else
        on_secret(request, reply);
}

void link_secret_load(struct api_request *request,
                      void (*then)(struct api_request *request))
{
    const struct gateway *gateway = request->gateway;

    request->signing = then;
    if (uv_now(gateway->loop) < gateway->link_secret_until)
        then(request);
    else
        ask_secret(request, on_asked);
}
