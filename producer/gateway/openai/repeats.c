/* repeats.c - a request that a client sends once more is the job of the first
 * time. */
#include "producer/gateway/openai/repeats.h"

#include <stdio.h>
#include <string.h>

#include "producer/client/handle.h"
#include "producer/gateway/fleet_links.h"
#include "schemas/redis/transition.h"
#include "schemas/service/log.h"

enum {
    KEPT_SECONDS = 600, /* longer than any client waits before it repeats */
    MOST_COUNT = 99,    /* digits of the header that are read */
};

/* False: there is no such header, or it is no number. */
static bool read_repeat_count(const struct http_exchange *exchange,
                              unsigned int *count)
{
    struct view text;
    struct err err;

    *count = 0;
    if (!http_request_value(exchange, "X-Stainless-Retry-Count", &text, &err) ||
        text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || *count > MOST_COUNT)
            return false;
        *count = *count * 10 + (unsigned int)(text.data[i] - '0');
    }
    return true;
}

static bool has_key(const struct http_exchange *exchange)
{
    struct view text;
    struct err err;

    return !http_request_value(exchange, "Idempotency-Key", &text, &err) ||
           text.len > 0;
}

void repeat_read(struct repeat *repeat, const struct api_request *request,
                 unsigned int partition)
{
    CLEANUP(buf_finish)
    struct buf bytes = { .max =
                             request->body.len + sizeof(struct access_caller) };
    struct sha256 hash;

    *repeat = (struct repeat){ .partition = partition,
                               .has_key = has_key(request->exchange) };
    if (!read_repeat_count(request->exchange, &repeat->count) ||
        repeat->has_key)
        return;
    /* With their NULs, which no tenant and no key has in it. */
    buf_append(&bytes, request->caller.tenant,
               strlen(request->caller.tenant) + 1);
    buf_append(&bytes, request->caller.key.text,
               strlen(request->caller.key.text) + 1);
    buf_add(&bytes, request->body);
    hash = blob_sha256(buf_view(&bytes));
    memcpy(repeat->sha256, hash.text, sizeof(repeat->sha256));
}

static struct key repeat_key(const struct repeat *repeat,
                             const struct names *names)
{
    return names_repeats(names, repeat->partition, view_of(repeat->sha256));
}

/* Of this try: those of other tries of the same job differ. */
struct repeat_text {
    char text[ID_LEN + 16];
};

static struct repeat_text repeat_text_of(const struct repeat *repeat,
                                         struct view job)
{
    struct repeat_text note;

    snprintf(note.text, sizeof(note.text), "%.*s/%u", VIEW_ARG(job),
             repeat->count);
    return note;
}

void repeat_take(struct api_request *request, const struct repeat *repeat,
                 api_request_reply *done)
{
    struct command command;

    transition_repeat_take(&command, &request->gateway->names,
                           repeat->partition, view_of(repeat->sha256),
                           repeat->count);
    api_request_call(request, repeat->partition, &command, done);
    command_finish(&command);
}

static void tell_redis(struct gateway *gateway, const struct repeat *repeat,
                       struct command *command)
{
    fleet_links_tell(gateway->links, repeat->partition, command,
                     "a request that may be repeated");
    command_finish(command);
}

void repeat_note(const struct repeat *repeat, struct gateway *gateway,
                 struct view job)
{
    struct repeat_text note = repeat_text_of(repeat, job);
    struct command command;
    struct key key;

    if (*repeat->sha256 == '\0' || repeat->is_noted)
        return;
    key = repeat_key(repeat, &gateway->names);
    command_init(&command, "RPUSH");
    command_add(&command, key_view(&key));
    command_add_text(&command, note.text);
    tell_redis(gateway, repeat, &command);
    command_init(&command, "EXPIRE");
    command_add(&command, key_view(&key));
    command_add_uint(&command, KEPT_SECONDS);
    tell_redis(gateway, repeat, &command);
}

void repeat_settle_command(struct command *command, const struct repeat *repeat,
                           const struct names *names, struct view job)
{
    struct repeat_text note = repeat_text_of(repeat, job);
    struct key key = repeat_key(repeat, names);

    command_init(command, "LREM");
    command_add_copy(command, key_view(&key));
    command_add_uint(command, 1);
    command_add_copy(command, view_of(note.text));
}

void repeat_settle(const struct repeat *repeat, struct gateway *gateway,
                   struct view job)
{
    struct command command;

    if (*repeat->sha256 == '\0')
        return;
    repeat_settle_command(&command, repeat, &gateway->names, job);
    tell_redis(gateway, repeat, &command);
}
