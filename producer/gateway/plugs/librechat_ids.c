/* librechat_ids.c - ids as LibreChat has them. */
#include "producer/gateway/plugs/librechat_ids.h"

#include <stdio.h>
#include <string.h>

#include "producer/client/handle.h"

enum {
    DIGITS = 21,
    JOB_BYTES = 16,
    VARIANT = 8, /* the byte of a UUID whose two highest bits are always 10 */
    RECORD_BYTES = 12,
    RECORD_DIGITS = 16,
};

static const char of_record[] = "file_";
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                               "uvwxyz0123456789-_";

/* ------------------------------------------------------------------- digits */

/* Six bits a digit; what is behind the bytes counts as zero. */
static void digits_write(char *digits, size_t count, const unsigned char *bytes,
                         size_t size)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i * 6 / 8, shift = i * 6 % 8;
        unsigned int two = bytes[at] * 256u;

        if (at + 1 < size)
            two |= bytes[at + 1];
        digits[i] = alphabet[two >> (10 - shift) & 0x3f];
    }
    digits[count] = '\0';
}

/* -1: it is no digit. */
static int librechat_digit(char digit)
{
    int value = 63;

    while (value >= 0 && alphabet[value] != digit)
        value--;
    return value;
}

/* False: one of them is no digit. bytes: zeroed, and room for them all. */
static bool digits_read(const char *digits, size_t count, unsigned char *bytes)
{
    for (size_t i = 0; i < count * 6; i++) {
        int value = librechat_digit(digits[i / 6]);

        if (value < 0)
            return false;
        if ((unsigned int)value >> (5 - i % 6) & 1)
            bytes[i / 8] |= (unsigned char)(0x80 >> i % 8);
    }
    return true;
}

/* Hexadecimal digits, all of them good. */
static void hex_read(const char *hex, unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(byte_hex(hex[2 * i]) * 16 +
                                   byte_hex(hex[2 * i + 1]));
}

/* --------------------------------------------------------------------- jobs */

struct librechat_id librechat_id_of_job(struct view job)
{
    char hex[2 * JOB_BYTES];
    unsigned char bytes[JOB_BYTES];
    struct librechat_id id;
    size_t len = 0;

    for (size_t i = 0; i < job.len && len < sizeof(hex); i++)
        if (job.data[i] != '-')
            hex[len++] = job.data[i];
    hex_read(hex, bytes, sizeof(bytes));
    /* The last two bits, for which there is no digit, go where the variant is:
     * that is known. */
    bytes[VARIANT] = (unsigned char)((bytes[VARIANT] & 0x3f) |
                                     (bytes[JOB_BYTES - 1] & 3) << 6);
    digits_write(id.text, DIGITS, bytes, sizeof(bytes));
    return id;
}

bool librechat_job_of_id(struct view id, char job[ID_LEN + 1])
{
    unsigned char bytes[JOB_BYTES] = { 0 };
    int len = 0;

    if (id.len != DIGITS || view_starts(id, of_record) ||
        !digits_read(id.data, DIGITS, bytes))
        return false;
    bytes[JOB_BYTES - 1] |= bytes[VARIANT] >> 6;
    bytes[VARIANT] = (unsigned char)(0x80 | (bytes[VARIANT] & 0x3f));
    for (int i = 0; i < JOB_BYTES; i++)
        len += snprintf(
            job + len, (size_t)(ID_LEN + 1 - len),
            i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
    return id_parse(view_of(job), NULL);
}

/* ------------------------------------------------------------------ records */

struct librechat_id librechat_id_of_record(struct view record)
{
    unsigned char bytes[RECORD_BYTES];
    struct librechat_id id;

    memcpy(id.text, of_record, sizeof(of_record));
    hex_read(record.data + sizeof("file-") - 1, bytes, sizeof(bytes));
    digits_write(id.text + sizeof(of_record) - 1, RECORD_DIGITS, bytes,
                 sizeof(bytes));
    return id;
}

bool librechat_record_of_id(struct view id, char record[FILE_ID_BYTES])
{
    unsigned char bytes[RECORD_BYTES] = { 0 };
    int len = snprintf(record, FILE_ID_BYTES, "file-");

    if (id.len != DIGITS || !view_starts(id, of_record) ||
        !digits_read(id.data + sizeof(of_record) - 1, RECORD_DIGITS, bytes))
        return false;
    for (int i = 0; i < RECORD_BYTES; i++)
        len += snprintf(record + len, (size_t)(FILE_ID_BYTES - len), "%02x",
                        bytes[i]);
    return true;
}

void librechat_record_number(char record[FILE_ID_BYTES], unsigned int number)
{
    snprintf(record + FILE_ID_BYTES - 3, 3, "%02x", number & 0xff);
}

bool librechat_same_upload(struct view record, struct view other)
{
    return record.len == other.len && record.len > 2 &&
           memcmp(record.data, other.data, record.len - 2) == 0;
}

/* -------------------------------------------------------------------- paths */

struct librechat_id librechat_id_of_path(struct view path)
{
    struct sha256 hash = blob_sha256(path);
    unsigned char bytes[JOB_BYTES];
    struct librechat_id id;

    hex_read(hash.text, bytes, sizeof(bytes));
    digits_write(id.text, DIGITS, bytes, sizeof(bytes));
    return id;
}
