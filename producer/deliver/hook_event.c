/* hook_event.c - what a webhook is sent: a body, and its signatures. */
#include "producer/deliver/hook_event.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "producer/gateway/responses/response_object.h"

enum { KEY_BYTES = 128 };

static const char *hook_event_type(struct view state)
{
    static const char *const types[][2] = {
        { "completed", "response.completed" },
        { "incomplete", "response.incomplete" },
        { "failed", "response.failed" },
        { "cancelled", "response.cancelled" },
        { "test", "quern.test" },
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (view_is(state, types[i][0]))
            return types[i][1];
    return NULL;
}

bool hook_event_make(struct hook_event *event,
                     const struct hook_delivery *delivery)
{
    const char *type = hook_event_type(delivery->state);
    char response[RESPONSE_ID_BYTES];
    const char *digits;
    struct view hook = delivery->hook;

    if (!type)
        return false;
    response_id_write(response, delivery->job);
    digits = strchr(response, '_') + 1;
    snprintf(event->id, sizeof(event->id), "evt_%s_%" PRIx64 "_%.*s", digits,
             delivery->at, (int)hook.len - 5, hook.data + 5);
    snprintf(event->body, sizeof(event->body),
             "{\"id\":\"%s\",\"object\":\"event\",\"created_at\":%" PRIu64
             ",\"type\":\"%s\",\"data\":{\"id\":\"%s\"}}",
             event->id, delivery->at / 1000, type, response);
    return true;
}

/* The bytes of "whsec_<base64>"; of another secret its text. */
static size_t key_of(struct view secret, unsigned char key[KEY_BYTES])
{
    const char *text = secret.data + 6;
    int len = -1;

    if (secret.len > KEY_BYTES)
        secret.len = KEY_BYTES;
    if (view_starts(secret, "whsec_"))
        len = EVP_DecodeBlock(key, (const unsigned char *)text,
                              (int)secret.len - 6);
    if (len <= 0) {
        memcpy(key, secret.data, secret.len);
        return secret.len;
    }
    /* EVP_DecodeBlock() counts what stands for = as zero bytes. */
    if (secret.data[secret.len - 1] == '=')
        len -= secret.data[secret.len - 2] == '=' ? 2 : 1;
    return (size_t)len;
}

/* Appends "v1,<base64>"; room: HOOK_SIGNATURE_BYTES / HOOK_SECRETS. */
static size_t hook_event_add(char *text, const char *content, size_t len,
                             struct view secret)
{
    static const char version[3] = { 'v', '1', ',' };
    unsigned char key[KEY_BYTES], mac[EVP_MAX_MD_SIZE];
    size_t key_len = key_of(secret, key);
    unsigned int mac_len = 0;

    HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)content, len,
         mac, &mac_len);
    memcpy(text, version, sizeof(version));
    return sizeof(version) +
           (size_t)EVP_EncodeBlock((unsigned char *)text + sizeof(version), mac,
                                   (int)mac_len);
}

void hook_event_sign(char signature[HOOK_SIGNATURE_BYTES],
                     const struct hook_event *event, uint64_t at,
                     const struct hook_delivery *delivery)
{
    char content[sizeof(*event) + 32];
    size_t len = (size_t)snprintf(content, sizeof(content), "%s.%" PRIu64 ".%s",
                                  event->id, at, event->body);

    *signature = '\0';
    for (size_t i = 0; i < delivery->secret_count; i++) {
        signature +=
            hook_event_add(signature, content, len, delivery->secrets[i]);
        *signature++ = i + 1 < delivery->secret_count ? ' ' : '\0';
    }
}
