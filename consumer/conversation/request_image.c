/* request_image.c - chooses the images of a request, and puts them into its
 * messages. */
#include "consumer/conversation/request_image.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "consumer/model/reply_json.h"

/* The type that the bytes have, of those that models take; empty: none. */
static struct view mime_of(struct view bytes)
{
    if (view_starts(bytes, "\x89PNG\r\n\x1a\n"))
        return VIEW("image/png");
    if (view_starts(bytes, "\xff\xd8\xff"))
        return VIEW("image/jpeg");
    if (view_starts(bytes, "GIF87a") || view_starts(bytes, "GIF89a"))
        return VIEW("image/gif");
    if (bytes.len > 12 && view_starts(bytes, "RIFF") &&
        memcmp(bytes.data + 8, "WEBP", 4) == 0)
        return VIEW("image/webp");
    return (struct view){ 0 };
}

/* ---------------------------------------------------------------- choosing
 */

struct image_choice {
    struct request_image *images;
    size_t count;
    uint64_t most, bytes_left;
};

static bool may_be_shown(struct view mime)
{
    return view_starts(mime, "image/") && !view_is(mime, "image/svg+xml");
}

/* An upload is judged by its name if the job does not give a type. Before it is
 * sent, its bytes decide. */
static bool may_be_image(const struct file_ref *file)
{
    static const char *const endings[] = { ".png", ".jpg", ".jpeg", ".gif",
                                           ".webp" };
    if (file->mime.len > 0)
        return may_be_shown(file->mime);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t len = strlen(endings[i]);
        if (file->name.len > len &&
            strncasecmp(file->name.data + file->name.len - len, endings[i],
                        len) == 0)
            return true;
    }
    return false;
}

static void image_choice_add(struct image_choice *choice, struct view name,
                             struct view blob, uint64_t bytes,
                             const json_t *message)
{
    if (choice->count == choice->most || bytes > choice->bytes_left ||
        !message || blob.len == 0)
        return;
    choice->bytes_left -= bytes;
    choice->images[choice->count++] = (struct request_image){
        .name = name,
        .blob = blob,
        .message = message,
    };
}

size_t images_choose(const struct conversation *conversation, uint64_t most,
                     uint64_t most_bytes,
                     struct request_image images[MAX_SHOWN])
{
    struct image_choice choice = {
        .images = images,
        .most = most < MAX_SHOWN ? most : MAX_SHOWN,
        .bytes_left = most_bytes,
    };
    for (size_t i = conversation->result_count; i-- > 0;) {
        const struct list *list = &conversation->results[i].images;
        const struct image_ref *refs = list->items;
        const json_t *message =
            json_array_get(conversation->messages, conversation->places[i]);
        for (size_t j = list->count; j-- > 0;)
            if (may_be_shown(refs[j].mime))
                image_choice_add(&choice, refs[j].name, refs[j].blob,
                                 refs[j].bytes, message);
    }
    const struct file_ref *files = conversation->job->files.items;
    const json_t *message = conversation_task(conversation);
    for (size_t i = conversation->job->files.count; i-- > 0;)
        if (may_be_image(&files[i]))
            image_choice_add(&choice, files[i].name, files[i].blob,
                             files[i].bytes, message);
    return choice.count;
}

/* ----------------------------------------------------------------- placing
 */

static json_t *part_of_text(struct view text)
{
    return json_pack("{s:s, s:o}", "type", "text", "text",
                     json_stringn(text.data, text.len));
}

static json_t *part_of_bytes(struct view mime, struct view bytes)
{
    size_t room = mime.len + bytes.len / 3 * 4 + 32;
    char *url = malloc(room);
    if (!url)
        abort();
    int head = snprintf(url, room, "data:%.*s;base64,", VIEW_ARG(mime));
    int len =
        EVP_EncodeBlock((unsigned char *)url + head,
                        (const unsigned char *)bytes.data, (int)bytes.len);
    json_t *part =
        json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url",
                  json_stringn(url, (size_t)head + (size_t)len));
    free(url);
    return part;
}

/* The messages that hold images, and the messages of the conversation that they
 * are copies of: those must not change. */
struct image_placement {
    json_t *messages;
    struct {
        const json_t *from;
        json_t *to;
    } made[MAX_SHOWN];
    size_t count;
};

static size_t position_of(const struct image_placement *placement,
                          const json_t *message)
{
    for (size_t i = 0; i < placement->count; i++)
        if (placement->made[i].from == message)
            message = placement->made[i].to;
    size_t at = 0;
    while (at < json_array_size(placement->messages) &&
           json_array_get(placement->messages, at) != message)
        at++;
    return at;
}

static bool is_made(const struct image_placement *placement,
                    const json_t *message)
{
    for (size_t i = 0; i < placement->count; i++)
        if (placement->made[i].to == message)
            return true;
    return false;
}

/* Returns the parts of the user's message at that place, in a copy of it. */
static json_t *open_message(struct image_placement *placement, size_t at)
{
    json_t *message = json_array_get(placement->messages, at);
    if (is_made(placement, message))
        return json_object_get(message, "content");
    json_t *content = json_object_get(message, "content");
    json_t *parts = json_is_array(content) ? json_copy(content) : json_array();
    if (json_is_string(content))
        json_array_append_new(
            parts, part_of_text(reply_json_text(message, "content")));
    json_t *copy = json_copy(message);
    json_object_set_new(copy, "content", parts);
    placement->made[placement->count].from = message;
    placement->made[placement->count++].to = copy;
    json_array_set_new(placement->messages, at, copy);
    return parts;
}

/* Returns the parts of a new message behind all results of the turn: endpoints
 * allow nothing between these. */
static json_t *open_behind(struct image_placement *placement, size_t at)
{
    while (view_is(
        reply_json_text(json_array_get(placement->messages, at), "role"),
        "tool"))
        at++;
    json_t *there = json_array_get(placement->messages, at);
    if (is_made(placement, there))
        return json_object_get(there, "content");
    json_t *parts = json_array();
    json_t *made = json_pack("{s:s, s:o}", "role", "user", "content", parts);
    placement->made[placement->count].from = NULL;
    placement->made[placement->count++].to = made;
    json_array_insert_new(placement->messages, at, made);
    return parts;
}

static void place(struct image_placement *placement,
                  const struct request_image *image)
{
    struct view bytes = buf_view(&image->bytes);
    struct view mime = mime_of(bytes);
    size_t at = position_of(placement, image->message);
    if (mime.len == 0 || at == json_array_size(placement->messages))
        return;
    bool tool = view_is(reply_json_text(image->message, "role"), "tool");
    json_t *parts =
        tool ? open_behind(placement, at) : open_message(placement, at);
    CLEANUP(buf_finish) struct buf name;
    buf_init(&name, MAX_FILE_NAME_BYTES + 16);
    buf_printf(&name, "[image: %.*s]", VIEW_ARG(image->name));
    json_array_append_new(parts, part_of_text(buf_view(&name)));
    json_array_append_new(parts, part_of_bytes(mime, bytes));
}

void images_place(json_t *messages, const struct request_image *images,
                  size_t count)
{
    struct image_placement placement = { .messages = messages };
    while (count-- > 0)
        place(&placement, &images[count]);
}
