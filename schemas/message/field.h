/* field.h - a message described once, as a table.
 *
 * A schema lists the fields of a C struct under their MessagePack names. From
 * that one list come decoding, encoding, validation and the JSON Schema
 * document (schemas/json), so they cannot disagree.
 *
 * Decoding never trusts: check.h bounds the bytes before msgpack-c sees them,
 * every field is checked against its row, the first fault is reported by its
 * path ("files[2].blob: ..."), unknown fields are ignored. Decoded views
 * borrow from the bytes, lists from the arena: both must outlive the struct.
 *
 * Encoding leaves out what is empty (no bytes, zero, NULL, no items), unless
 * the row says FIELD_ALWAYS. So in every message absent and empty mean the
 * same.
 *
 * Nothing here keeps state of its own. When memory is out it aborts (buf.h). */
#ifndef SCHEMAS_MESSAGE_FIELD_H
#define SCHEMAS_MESSAGE_FIELD_H

#include <msgpack.h>
#include <stdint.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/view.h"

/* Kind of a row, and the C type that stands at its offset. */
enum field_type {
    FIELD_TEXT,   /* struct view, UTF-8 (MessagePack str) */
    FIELD_BYTES,  /* struct view, any bytes (bin; str is accepted) */
    FIELD_UINT,   /* uint64_t */
    FIELD_REAL,   /* double; integers are accepted */
    FIELD_BOOL,   /* bool */
    FIELD_ENUM,   /* int: index into names */
    FIELD_ANY,    /* const msgpack_object *: any value, kept as it is; when it
                     was decoded, it is in the arena */
    FIELD_STRUCT, /* the struct itself, described by of */
    FIELD_LIST,   /* struct list of structs described by of */
    FIELD_MAP,    /* struct list of struct pair: text keys, FIELD_BYTES or
                     text values */
};

/* What a FIELD_UINT counts: people write it in other units (5m, 2G, 0.05). */
enum field_unit { UNIT_NONE, UNIT_MS, UNIT_BYTES, UNIT_MICRO_DOLLARS };

enum {
    FIELD_REQUIRED = 1, /* absent or empty is an error: missing_field */
    FIELD_ALWAYS = 2,   /* encoded even when empty */
    FIELD_RAW = 4, /* TEXT that may be any bytes: bin when it is not UTF-8 */
};

struct schema;

struct field {
    const char *name; /* NULL in the only row of a list of plain values */
    enum field_type type;
    unsigned int flags;
    size_t offset;
    uint64_t min; /* UINT: least value. TEXT, BYTES: least length in bytes */
    uint64_t max; /* UINT: greatest value. TEXT, BYTES: bytes. LIST, MAP: items;
                     a MAP's values are bounded by the message as a whole */
    const struct schema *of;  /* STRUCT, LIST */
    const char *const *names; /* ENUM; ends in NULL */
    const char *about; /* a sentence for the JSON Schema document and for help,
                          without the unit */
    enum field_unit unit; /* UINT */
};

struct schema {
    const char *name;
    const char *about;
    size_t size; /* sizeof the struct */
    const struct field *fields;
    size_t count;
    bool versioned;   /* a top-level message: the map carries "v": 1 */
    size_t max_bytes; /* of the encoded message; zero: no bound of its own */
};

/* rule.c: the row of "cells", or within a STRUCT of "limits.cell_ms"; NULL:
 * there is none. */
const struct field *field_find(const struct schema *schema, const char *path);

/* Items of one type, which the member's comment names. A decoded list is in the
 * arena; one to be encoded is the caller's. */
struct list {
    void *items; /* NULL or whatever when count is 0 */
    size_t count;
};

struct pair {
    struct view key;
    struct view value;
};

/* The memory of decoded messages: freed as a whole. A zeroed arena is valid,
 * finish accepts NULL. */
struct arena {
    msgpack_zone *zone;
};
void arena_finish(struct arena *arena);
/* Zeroed memory; aborts when memory is out. Sizes are checked by the caller. */
void *arena_alloc(struct arena *arena, size_t size);
struct view arena_copy(struct arena *arena, struct view view);

/* Members that no row names. A reader ignores them, because a newer writer may
 * know them; but whoever wrote them is told, because it may be a misspelling.
 */
struct unknown_members {
    size_t count;    /* all of them, also those that names does not have */
    char names[400]; /* of the first few: "sesion", "limits.ms" */
};
/* rule.c: appends a sentence, when there are any. */
void unknown_describe(const struct unknown_members *unknown, struct buf *out);

/* decode.c: fills *out (schema->size bytes; zeroed first). When it fails, *out
 * has what was decoded until then, and the arena must be finished all the same.
 * Errors: bad_message, unsupported_version, missing_field, bad_field,
 * too_large, all ERR_REJECT. */
bool message_decode(const struct schema *schema, struct view bytes, void *out,
                    struct arena *arena, struct err *err);

/* The same; unknown, zeroed before, gets the members that were passed over. */
bool message_decode_noting(const struct schema *schema, struct view bytes,
                           void *out, struct arena *arena,
                           struct unknown_members *unknown, struct err *err);

/* The same of a value that was made elsewhere; what is decoded borrows from it.
 * Its size as a whole is not checked. */
bool message_decode_value(const struct schema *schema,
                          const msgpack_object *value, void *out,
                          struct arena *arena, struct err *err);

/* encode.c: appends to out. Fails with too_large when a row's bound or the
 * buffer's maximum is passed, with bad_field when a value is not what its row
 * says, with missing_field. When it fails, out has the length that it had, but
 * a buffer that was too small stays marked as such (buf_ok()). */
bool message_encode(const struct schema *schema, const void *in,
                    struct buf *out, struct err *err);

/* Any one MessagePack value: checked (check.h), then parsed into the arena. Its
 * strings borrow from bytes. A map that has a key twice is refused. */
bool value_decode(struct view bytes, const msgpack_object **out,
                  struct arena *arena, struct err *err);
bool value_encode(const msgpack_object *value, struct buf *out,
                  struct err *err);
/* The bytes of a str or bin; of anything else an empty view. */
struct view value_view(const msgpack_object *value);
/* nil, [] and {} all mean absent: some languages cannot tell one of these from
 * another. */
bool value_is_empty(const msgpack_object *value);
/* The member of that name of a map. NULL: it is not a map, has no such member,
 * or that is empty. */
const msgpack_object *value_member(const msgpack_object *map, const char *name);

#endif
