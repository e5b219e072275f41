/* view.h - bytes that somebody else owns.
 *
 * A view is passed by value and never freed. It is valid as long as the bytes
 * are: whoever keeps a view must know who owns them. It may hold any bytes, NUL
 * included, and is not terminated: print it with "%.*s", VIEW_ARG(view), for
 * lengths up to INT_MAX. When len is 0, data may be NULL. */
#ifndef SCHEMAS_MESSAGE_VIEW_H
#define SCHEMAS_MESSAGE_VIEW_H

#include <stdbool.h>
#include <stddef.h>

struct view {
    const char *data;
    size_t len;
};

/* VIEW: of a string literal. VIEW_INIT: the same as initializer of a static
 * view. view_of: of a C string; NULL gives an empty view. */
#define VIEW(literal) ((struct view)VIEW_INIT(literal))
#define VIEW_INIT(literal)                                                     \
    {                                                                          \
        (literal), sizeof(literal) - 1                                         \
    }
struct view view_of(const char *text);

#define VIEW_ARG(view) (int)(view).len, (view).data

bool view_equal(struct view a, struct view b);
bool view_is(struct view view, const char *text);
bool view_starts(struct view view, const char *prefix);
/* The same, whatever the case of letters of ASCII. */
bool view_is_caseless(struct view view, const char *text);
bool view_starts_caseless(struct view view, const char *prefix);

/* Whether the byte is one of those of the C string. NUL never is, while
 * strchr() finds the NUL that ends the string. */
bool byte_is_of(char byte, const char *bytes);
/* The value of a hexadecimal digit, in small letters or capitals; or -1. */
int byte_hex(char byte);

/* Without white space at its ends. */
struct view view_trimmed(struct view view);

/* At most max bytes of the view, never cutting a UTF-8 character in two. */
struct view view_head(struct view view, size_t max);

/* The length in bytes of the UTF-8 character at the head; 0 when it is
 * malformed or the view is empty. */
size_t view_character(struct view view);

/* The bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlongs). */
bool view_is_utf8(struct view view);

/* A NUL-terminated copy on the heap; free() it. Aborts when memory is out. */
char *view_dup(struct view view);

#endif
