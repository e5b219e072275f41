/* rule.h - what decoding and encoding share: the bounds of a row, and the place
 * of a fault.
 *
 * Inside schemas/ only. Each rule_...() answers whether the value is within the
 * bounds of its row; if not, err has the sentence. */
#ifndef SCHEMAS_MESSAGE_RULE_H
#define SCHEMAS_MESSAGE_RULE_H

#include "schemas/message/field.h"

enum { MESSAGE_VERSION = 1 };

/* Where we are in a message: a chain on the stack, the innermost first. NULL is
 * the message itself. */
struct field_path {
    const struct field_path *outer;
    const char *name; /* of a member; NULL: an item of a list */
    size_t index;
};

/* Fills err (ERR_REJECT) with the place, as in "files[2].blob", and behind it
 * the sentence; returns false. */
bool fault(const struct field_path *place, struct err *err, const char *code,
           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Notes an unknown member of that name at the place. */
void unknown_add(struct unknown_members *unknown,
                 const struct field_path *outer, struct view name);

/* The bounds of a row. Empty is always within them; see rule_given(). */
bool rule_view(const struct field *field, struct view view,
               const struct field_path *place, struct err *err);
bool rule_uint(const struct field *field, uint64_t number,
               const struct field_path *place, struct err *err);
bool rule_real(double number, const struct field_path *place, struct err *err);
bool rule_count(const struct field *field, size_t count,
                const struct field_path *place, struct err *err);
/* The keys of a FIELD_MAP's pairs: text, and each once. */
bool rule_keys(const struct list *pairs, const struct field_path *place,
               struct err *err);

/* Whether the member at in is empty: no bytes, zero, NULL, no items. */
bool field_is_empty(const struct field *field, const void *in);
/* An empty field may stay away, unless it is required: missing_field. */
bool rule_given(const struct field *field, bool empty,
                const struct field_path *place, struct err *err);

#endif
