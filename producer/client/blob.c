/* blob.c - files and images: bytes in Redis under their own SHA-256.
 *
 * The name says what the bytes are, so writing them twice is harmless and
 * reading them can be checked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "producer/client/handle.h"
#include "schemas/message/limits.h"

enum { BLOB_TTL_SECONDS = 24 * 3600 };

struct sha256 blob_sha256(struct view bytes)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[32];
    struct sha256 text = { { 0 } };

    if (!EVP_Digest(bytes.data, bytes.len, hash, NULL, EVP_sha256(), NULL))
        abort();
    for (size_t i = 0; i < sizeof(hash); i++) {
        text.text[2 * i] = digits[hash[i] >> 4];
        text.text[2 * i + 1] = digits[hash[i] & 15];
    }
    return text;
}

bool blob_is_sound(struct view sha256, struct view bytes)
{
    struct sha256 actual = blob_sha256(bytes);

    return view_equal(view_of(actual.text), sha256);
}

/* Keeps the blob for a day from now; one that lives longer stays so (GT). */
static bool blob_extend(struct quern *quern, unsigned int partition,
                        struct view key, struct err *err)
{
    struct command command;
    redisReply *reply;

    command_init(&command, "EXPIRE");
    command_add(&command, key);
    command_add_uint(&command, BLOB_TTL_SECONDS);
    command_add_text(&command, "GT");
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    if (!reply)
        return false;
    freeReplyObject(reply);
    return true;
}

/* SET_NEW sets a key that is not there, SET_AGAIN one that is. */
enum blob_set_mode { SET_NEW, SET_AGAIN };

/* *done: the key was in the state that the mode wants, and has been set. */
static bool blob_set(struct quern *quern, unsigned int partition,
                     struct view key, struct view bytes, enum blob_set_mode how,
                     bool *done, struct err *err)
{
    struct command command;
    redisReply *reply;

    command_init(&command, "SET");
    command_add(&command, key);
    command_add(&command, bytes);
    command_add_text(&command, how == SET_NEW ? "NX" : "XX");
    command_add_text(&command, how == SET_NEW ? "EX" : "KEEPTTL");
    if (how == SET_NEW)
        command_add_uint(&command, BLOB_TTL_SECONDS);
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    if (!reply)
        return false;
    *done = reply->type != REDIS_REPLY_NIL;
    freeReplyObject(reply);
    return true;
}

/* Bytes that are there already are written over: somebody may have stored other
 * bytes under this name. They keep their time to live, since a job may need the
 * blob for longer than a day. The key may expire or appear between the two
 * commands: so there are three rounds. */
static bool blob_write(struct quern *quern, unsigned int partition,
                       struct view key, struct view bytes, struct err *err)
{
    bool done = false;

    for (int i = 0; i < 3; i++) {
        if (!blob_set(quern, partition, key, bytes, SET_NEW, &done, err))
            return false;
        if (done)
            return true;
        if (!blob_set(quern, partition, key, bytes, SET_AGAIN, &done, err))
            return false;
        if (done)
            return blob_extend(quern, partition, key, err);
    }
    return err_set(err, ERR_RETRY, "redis_unavailable",
                   "blob %.*s was deleted three times while it was written",
                   VIEW_ARG(key));
}

static bool check_size(uint64_t bytes, struct err *err)
{
    return bytes <= MAX_FILE_BYTES ||
           err_set(err, ERR_REJECT, "too_large",
                   "%" PRIu64 " bytes, a file may have %d (" MAX_FILE_WORDS ")",
                   bytes, MAX_FILE_BYTES);
}

static bool upload_bytes(struct quern *quern, struct view tenant,
                         struct view bytes, struct sha256 *hash,
                         struct err *err)
{
    unsigned int partition;
    struct key key;

    if (!check_size(bytes.len, err) ||
        !handle_partition(quern, tenant, &partition, err))
        return false;
    *hash = blob_sha256(bytes);
    key = names_blob(&quern->fleet->names, partition, view_of(hash->text));
    return blob_write(quern, partition, key_view(&key), bytes, err);
}

static void blob_cleanup_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Reads until the end, whatever fd is: a file may be a pipe (a shell's <(...)),
 * which has no size and cannot be mapped. */
static bool blob_read_all(int fd, struct buf *bytes, struct err *err)
{
    for (;;) {
        char *room = buf_reserve(bytes, 64 << 10);
        ssize_t n;

        if (!room)
            return err_set(err, ERR_REJECT, "too_large",
                           "more than %d bytes (" MAX_FILE_WORDS
                           "), a file may have no more",
                           MAX_FILE_BYTES);
        n = read(fd, room, 64 << 10);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_REJECT, "bad_field", "%s", strerror(errno));
        if (n == 0)
            return true;
        bytes->len += (size_t)n;
    }
}

static bool upload_path(struct quern *quern, struct view tenant,
                        const char *path, struct file_ref *ref,
                        struct sha256 *hash, struct err *err)
{
    CLEANUP(blob_cleanup_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    CLEANUP(buf_finish) struct buf bytes;

    buf_init(&bytes, MAX_FILE_BYTES + (64 << 10));
    if (fd < 0)
        return err_set(err, ERR_REJECT, "bad_field", "%s", strerror(errno));
    if (!blob_read_all(fd, &bytes, err))
        return false;
    ref->bytes = bytes.len;
    return upload_bytes(quern, tenant, buf_view(&bytes), hash, err);
}

static struct view base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return view_of(slash ? slash + 1 : path);
}

static bool blob_check_name(struct view name, struct err *err)
{
    return file_name_is_valid(name) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "\"%.*s\" is not a file name: a base name of at most "
                   "%d bytes, UTF-8, without control characters",
                   VIEW_ARG(view_head(name, 64)), MAX_FILE_NAME_BYTES);
}

static struct view blob_file_name(const struct quern_file *file)
{
    return file->name ? view_of(file->name) : base_name(file->path);
}

bool blob_check_file(const struct quern_file *file, struct err *err)
{
    struct stat status;
    uint64_t size = file->size;

    if (file->path) {
        if (stat(file->path, &status) < 0)
            return err_set(err, ERR_REJECT, "bad_field", "%s",
                           strerror(errno)) ||
                   err_prefix(err, "file %s", file->path);
        size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    }
    return (blob_check_name(blob_file_name(file), err) &&
            check_size(size, err)) ||
           err_prefix(err, "file %s", file->path ? file->path : file->name);
}

static bool upload(struct quern *quern, struct view tenant,
                   const struct quern_file *file, struct file_ref *ref,
                   struct sha256 *hash, struct err *err)
{
    struct view bytes = { file->data, file->size };

    return file->path ? upload_path(quern, tenant, file->path, ref, hash, err)
                      : upload_bytes(quern, tenant, bytes, hash, err);
}

bool blob_upload_file(struct quern *quern, struct view tenant,
                      const struct quern_file *file, struct file_ref *ref,
                      struct sha256 *hash, struct err *err)
{
    *ref = (struct file_ref){
        .name = blob_file_name(file),
        .blob = { hash->text, sizeof(hash->text) - 1 },
        .mime = view_of(file->mime),
        .bytes = file->size,
    };
    return upload(quern, tenant, file, ref, hash, err) ||
           err_prefix(err, "file %s", file->path ? file->path : file->name);
}

bool quern_blob_put(struct quern *quern, const char *tenant, const void *data,
                    size_t size, char *sha256, struct quern_error *error)
{
    struct err err = { 0 };
    struct view bytes = { data, size };
    struct sha256 hash;

    if (!upload_bytes(quern, view_of(tenant), bytes, &hash, &err))
        return handle_fail(error, &err);
    memcpy(sha256, hash.text, sizeof(hash.text));
    return true;
}

static redisReply *blob_fetch(struct quern *quern, unsigned int partition,
                              struct view sha256, struct err *err)
{
    struct key key = names_blob(&quern->fleet->names, partition, sha256);
    struct command command;
    redisReply *reply;

    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    return reply;
}

/* A blob is in the partition of its job, which its name does not tell. Most
 * blobs are asked for right after the result that names them: so the partition
 * of the last call is tried first, and mostly nobody needs to know how many
 * partitions there are. */
static redisReply *blob_find(struct quern *quern, struct view sha256,
                             struct err *err)
{
    unsigned int first = quern->fleet->latest, count;
    redisReply *reply;

    if (!id_is_sha256(sha256)) {
        err_set(err, ERR_REJECT, "bad_field",
                "blob: \"%.*s\" is not 64 hexadecimal digits",
                VIEW_ARG(view_head(sha256, 70)));
        return NULL;
    }
    reply = blob_fetch(quern, first, sha256, err);
    if (!reply || reply->type == REDIS_REPLY_STRING)
        return reply;
    if (!handle_partitions(quern, &count, err)) {
        if (err->kind == ERR_REJECT)
            return reply; /* this login may not ask for the number: then the
                             blob is told to be missing */
        freeReplyObject(reply);
        return NULL;
    }
    for (unsigned int i = 1; i < count; i++) {
        freeReplyObject(reply);
        reply = blob_fetch(quern, (first + i) % count, sha256, err);
        if (!reply || reply->type == REDIS_REPLY_STRING)
            break;
    }
    return reply;
}

bool quern_blob_get(struct quern *quern, const char *sha256, void **data,
                    size_t *size, struct quern_error *error)
{
    struct err err = { 0 };
    CLEANUP(cleanup_reply)
    redisReply *reply = blob_find(quern, view_of(sha256), &err);
    struct view bytes;

    if (!reply)
        return handle_fail(error, &err);
    if (reply->type != REDIS_REPLY_STRING) {
        err_set(&err, ERR_REJECT, "missing_blob",
                "blob %s is not there: never written, or expired", sha256);
        return handle_fail(error, &err);
    }
    bytes = (struct view){ reply->str, reply->len };
    if (!blob_is_sound(view_of(sha256), bytes)) {
        err_set(&err, ERR_REJECT, "bad_blob",
                "blob %s holds other bytes than its name says", sha256);
        return handle_fail(error, &err);
    }
    *data = view_dup(bytes);
    *size = bytes.len;
    return true;
}
