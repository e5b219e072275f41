/* blob.c - bytes that are too large for a message: stored under their hash. */
#include "consumer/blob.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schemas/message/limits.h"
#include "schemas/redis/blob.h"

void blob_name(struct view bytes, char name[BLOB_NAME_LEN + 1])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    EVP_Digest(bytes.data, bytes.len, hash, &len, EVP_sha256(), NULL);
    for (unsigned int i = 0; i < len && i < BLOB_NAME_LEN / 2; i++)
        snprintf(name + 2 * (size_t)i, 3, "%02x", hash[i]);
}

bool blob_is_sound(struct view name, struct view bytes)
{
    char actual[BLOB_NAME_LEN + 1];
    blob_name(bytes, actual);
    return view_equal(name, view_of(actual));
}

bool blob_is_empty(struct view name)
{
    return blob_is_sound(name, (struct view){ 0 });
}

/* Never cuts a longer life short: the bytes may be some job's file too. */
static void renew(struct store *store, const struct names *names,
                  struct view name, uint64_t ttl_ms)
{
    if (name.len == 0)
        return;
    struct command command;
    blob_extend(&command, names, store_partition(store), name, ttl_ms);
    store_send(store, &command, NULL, NULL);
    command_finish(&command);
}

static void renew_displays(struct store *store, const struct names *names,
                           const struct list *list, uint64_t ttl_ms)
{
    const struct display *displays = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct display_part *parts = displays[i].parts.items;
        for (size_t j = 0; j < displays[i].parts.count; j++)
            renew(store, names, parts[j].blob, ttl_ms);
    }
}

static void renew_cell(struct store *store, const struct names *names,
                       const struct cell *cell, uint64_t ttl_ms)
{
    const struct cell_file *files = cell->files.items;
    renew(store, names, cell->out_blob, ttl_ms);
    renew(store, names, cell->errout_blob, ttl_ms);
    renew_displays(store, names, &cell->displays, ttl_ms);
    renew_displays(store, names, &cell->updates, ttl_ms);
    for (size_t i = 0; i < cell->files.count; i++)
        renew(store, names, files[i].blob, ttl_ms);
}

void blobs_renew(struct store *store, const struct names *names,
                 const struct record *results, size_t count, uint64_t ttl_ms)
{
    for (size_t i = 0; i < count; i++)
        renew_cell(store, names, &results[i].cell, ttl_ms);
}

void blob_put(struct store *store, const struct names *names, struct view name,
              struct view bytes, uint64_t ttl_ms, store_done *done, void *owner)
{
    unsigned int partition = store_partition(store);
    struct command command;
    renew(store, names, name, ttl_ms);
    blob_reserve(&command, names, partition, name, ttl_ms);
    store_send(store, &command, NULL, NULL);
    command_finish(&command);
    blob_fill(&command, names, partition, name, bytes);
    store_commit(store, &command, done, owner);
    command_finish(&command);
}

void blob_get(struct store *store, const struct names *names, struct view name,
              store_done *done, void *owner)
{
    struct command command;
    blob_ask(&command, names, store_partition(store), name);
    store_send(store, &command, done, owner);
    command_finish(&command);
}

static uint64_t big_endian(const unsigned char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | at[i];
    return number;
}

/* JPEG: segments of a marker and a length; SOF0 to SOF15 hold the size. */
static bool jpeg_size(const unsigned char *at, size_t len, uint64_t *width,
                      uint64_t *height)
{
    size_t pos = 2;
    while (pos + 9 < len && at[pos] == 0xff) {
        unsigned char marker = at[pos + 1];
        bool other = marker == 0xc4 || marker == 0xc8 || marker == 0xcc;
        if (marker >= 0xc0 && marker <= 0xcf && !other) {
            *height = big_endian(at + pos + 5, 2);
            *width = big_endian(at + pos + 7, 2);
            return true;
        }
        pos += 2 + (size_t)big_endian(at + pos + 2, 2);
    }
    return false;
}

static bool read_size(struct view bytes, uint64_t *width, uint64_t *height)
{
    const unsigned char *at = (const unsigned char *)bytes.data;
    if (bytes.len >= 10 && memcmp(at, "GIF8", 4) == 0) {
        *width = at[6] | (uint64_t)at[7] << 8;
        *height = at[8] | (uint64_t)at[9] << 8;
        return true;
    }
    if (bytes.len >= 24 && memcmp(at, "\x89PNG\r\n\x1a\n", 8) == 0) {
        *width = big_endian(at + 16, 4);
        *height = big_endian(at + 20, 4);
        return true;
    }
    return bytes.len >= 4 && at[0] == 0xff && at[1] == 0xd8 &&
           jpeg_size(at, bytes.len, width, height);
}

/* Only the header was read, and code may have written a false one. */
bool image_size(struct view bytes, uint64_t *width, uint64_t *height)
{
    uint64_t across, down;
    if (!read_size(bytes, &across, &down) || across == 0 || down == 0 ||
        across > MAX_PIXELS / down)
        return false;
    *width = across;
    *height = down;
    return true;
}

struct view mime_of(struct view file_name)
{
    static const struct {
        const char *end, *mime;
    } table[] = {
        { ".csv", "text/csv" },
        { ".gif", "image/gif" },
        { ".gz", "application/gzip" },
        { ".html", "text/html" },
        { ".jpeg", "image/jpeg" },
        { ".jpg", "image/jpeg" },
        { ".json", "application/json" },
        { ".md", "text/markdown" },
        { ".pdf", "application/pdf" },
        { ".png", "image/png" },
        { ".py", "text/x-python" },
        { ".svg", "image/svg+xml" },
        { ".tsv", "text/tab-separated-values" },
        { ".txt", "text/plain" },
        { ".xml", "application/xml" },
        { ".xlsx", "application/"
                   "vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
        { ".zip", "application/zip" },
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t len = strlen(table[i].end);
        if (file_name.len > len &&
            strncasecmp(file_name.data + file_name.len - len, table[i].end,
                        len) == 0)
            return view_of(table[i].mime);
    }
    return VIEW("application/octet-stream");
}
