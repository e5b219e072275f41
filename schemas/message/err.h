/* err.h - why something failed, and whether to try again.
 *
 * The kind answers the only question a queue asks: try again, or reject. The
 * code is a stable word for programs (see "Error codes" in
 * schemas/MESSAGES.md), the text a sentence for people that names the value and
 * the limit. Functions that can fail return bool and take a struct err last,
 * which may be NULL; it is untouched on success. Our own bugs are assert()ed,
 * never reported. */
#ifndef SCHEMAS_MESSAGE_ERR_H
#define SCHEMAS_MESSAGE_ERR_H

#include <stdbool.h>

enum err_kind {
    ERR_NONE,
    ERR_RETRY,  /* a connection, a server: the same request may succeed later */
    ERR_REJECT, /* the input is wrong: the same request will fail again */
};

struct err {
    enum err_kind kind;
    char code[32];
    char text[320]; /* one line of UTF-8 without control characters */
};

/* Fills err (which may be NULL) and returns false, so that a failing function
 * ends in one statement: return err_set(err, ERR_REJECT, "too_large", ...). */
bool err_set(struct err *err, enum err_kind kind, const char *code,
             const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " before the text of err; returns false. */
bool err_prefix(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
