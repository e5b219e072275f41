/* err.c - why something failed.
 *
 * A sentence may quote hostile bytes, and is cut where its array ends. It is
 * made well-formed here, once, so that every caller can put it into JSON, a log
 * line or a message as it is. */
#include "schemas/message/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/view.h"

/* Puts text into err: one line of well-formed UTF-8, cut to fit. */
static void err_set_text(struct err *err, const char *text)
{
    struct view rest = view_head(view_of(text), sizeof(err->text) - 1);
    char *to = err->text;

    while (rest.len > 0) {
        size_t len = view_character(rest);
        bool odd = len == 0 || (rest.data[0] >= 0 && rest.data[0] < ' ') ||
                   rest.data[0] == 0x7f;

        len = len > 0 ? len : 1;
        memcpy(to, odd ? "?" : rest.data, len);
        to += len;
        rest.data += len;
        rest.len -= len;
    }
    *to = '\0';
}

bool err_set(struct err *err, enum err_kind kind, const char *code,
             const char *format, ...)
{
    char text[2 * sizeof(err->text)];
    va_list arguments;

    if (!err)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (code != err->code)
        snprintf(err->code, sizeof(err->code), "%s", code);
    err->kind = kind;
    err_set_text(err, text);
    return false;
}

bool err_prefix(struct err *err, const char *format, ...)
{
    char text[2 * sizeof(err->text)];
    va_list arguments;
    size_t len;

    if (!err)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof(err->text), format, arguments);
    va_end(arguments);
    len = strlen(text);
    snprintf(text + len, sizeof(text) - len, ": %s", err->text);
    err_set_text(err, text);
    return false;
}
