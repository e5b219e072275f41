/* fuzz_hook.c - whatever Redis says of deliveries: what is taken has an id that
 * may stand in a header and in what is signed, and a body that is JSON. And any
 * text as the times between attempts.
 *
 * The bytes are an answer of deliver_take, in RESP. */
#include <ctype.h>
#include <hiredis/hiredis.h>
#include <jansson.h>
#include <string.h>

#include "producer/deliver/hook_event.h"
#include "producer/deliver/settings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/resp.h"

static void check_event(const struct hook_delivery *taken)
{
    char signature[HOOK_SIGNATURE_BYTES];
    struct hook_event event;
    json_t *body;

    if (!hook_event_make(&event, taken))
        return;
    MUST(strlen(event.id) + 1 < sizeof(event.id));
    for (const char *at = event.id; *at; at++)
        MUST(isalnum((unsigned char)*at) || *at == '_');
    body = json_loads(event.body, 0, NULL);
    MUST(body);
    MUST(strcmp(json_string_value(json_object_get(body, "id")), event.id) == 0);
    json_decref(body);
    hook_event_sign(signature, &event, 1, taken);
    MUST(strncmp(signature, "v1,", 3) == 0);
    MUST(strlen(signature) == taken->secret_count * 48 - 1);
}

static void check_reply(const redisReply *reply)
{
    struct hook_delivery taken;
    struct err err = { 0 };
    size_t count = 0;

    if (!hook_taken(reply, &count, &err)) {
        MUST(err.kind != ERR_NONE);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (hook_taken_one(reply->element[i], &taken, &err))
            check_event(&taken);
}

static void check_retries(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    struct deliver_retries retries;
    struct err err = { 0 };

    MUST(text);
    memcpy(text, data, size);
    if (deliver_retries_read(text, &retries, &err))
        for (size_t i = 0; i < retries.count; i++)
            MUST(retries.ms[i] > 0 && retries.ms[i] <= 24 * 3600 * 1000);
    else
        MUST(err.kind == ERR_REJECT && *err.text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    redisReader *reader;

    check_retries(data, size);
    if (!resp_is_modest(data, size))
        return 0;
    reader = redisReaderCreate();
    redisReaderFeed(reader, (const char *)data, size);
    for (void *reply = NULL;
         redisReaderGetReply(reader, &reply) == REDIS_OK && reply;) {
        check_reply(reply);
        freeReplyObject(reply);
        reply = NULL;
    }
    redisReaderFree(reader);
    return 0;
}
