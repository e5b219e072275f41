/* table.h - how the rows of a message's table are written.
 *
 * One line a field: the struct, its member, flags, bounds, and a sentence for
 * the people who read the JSON Schema. A member whose C type does not fit the
 * row does not compile. Inside schemas/message only. */
#ifndef SCHEMAS_MESSAGE_TABLE_H
#define SCHEMAS_MESSAGE_TABLE_H

#include "schemas/message/field.h"

/* The offset of a member that must have that type, which is no expression. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define OFFSET(noun, member, type)                                             \
    _Generic(((struct noun *)0)->member, type : offsetof(struct noun, member))
/* NOLINTEND(bugprone-macro-parentheses) */

/* name: where the message's word is not the struct's. */
#define TEXT_AS(name, noun, member, flags, max, about)                         \
    {                                                                          \
        name, FIELD_TEXT, flags, OFFSET(noun, member, struct view), 0, max,    \
            NULL, NULL, about, UNIT_NONE                                       \
    }
#define TEXT(noun, member, flags, max, about)                                  \
    TEXT_AS(#member, noun, member, flags, max, about)
#define TEXT_OF_LENGTH(noun, member, flags, length, about)                     \
    {                                                                          \
#member, FIELD_TEXT, flags, OFFSET(noun, member, struct view), length, \
            length, NULL, NULL, about, UNIT_NONE                               \
    }
#define BLOB_AS(name, noun, member, about)                                     \
    {                                                                          \
        name, FIELD_TEXT, 0, OFFSET(noun, member, struct view), SHA256_BYTES,  \
            SHA256_BYTES, NULL, NULL, about, UNIT_NONE                         \
    }
#define BYTES(noun, member, flags, max, about)                                 \
    {                                                                          \
#member, FIELD_BYTES, flags, OFFSET(noun, member, struct view), 0,     \
            max, NULL, NULL, about, UNIT_NONE                                  \
    }
#define UINT_AS(name, noun, member, flags, max, about)                         \
    {                                                                          \
        name, FIELD_UINT, flags, OFFSET(noun, member, uint64_t), 0, max, NULL, \
            NULL, about, UNIT_NONE                                             \
    }
#define UINT(noun, member, flags, max, about)                                  \
    UINT_AS(#member, noun, member, flags, max, about)
#define UINT_IN(unit, noun, member, flags, max, about)                         \
    {                                                                          \
#member, FIELD_UINT, flags, OFFSET(noun, member, uint64_t), 0, max,    \
            NULL, NULL, about, unit                                            \
    }
#define BOOL(noun, member, flags, about)                                       \
    {                                                                          \
#member, FIELD_BOOL, flags, OFFSET(noun, member, bool), 0, 0, NULL,    \
            NULL, about, UNIT_NONE                                             \
    }
#define ENUM_AS(name, noun, member, flags, names, about)                       \
    {                                                                          \
        name, FIELD_ENUM, flags, OFFSET(noun, member, int), 0, 0, NULL, names, \
            about, UNIT_NONE                                                   \
    }
#define ENUM(noun, member, flags, names, about)                                \
    ENUM_AS(#member, noun, member, flags, names, about)
#define ANY(noun, member, flags, about)                                        \
    {                                                                          \
#member, FIELD_ANY, flags,                                             \
            OFFSET(noun, member, const msgpack_object *), 0, 0, NULL, NULL,    \
            about, UNIT_NONE                                                   \
    }
#define STRUCT(noun, member, flags, of_noun, about)                            \
    {                                                                          \
#member, FIELD_STRUCT, flags, OFFSET(noun, member, struct of_noun), 0, \
            0, &schema_##of_noun, NULL, about, UNIT_NONE                       \
    }
#define LIST(noun, member, flags, of_noun, max, about)                         \
    {                                                                          \
#member, FIELD_LIST, flags, OFFSET(noun, member, struct list), 0, max, \
            &schema_##of_noun, NULL, about, UNIT_NONE                          \
    }
#define MAP(noun, member, flags, max, about)                                   \
    {                                                                          \
#member, FIELD_MAP, flags, OFFSET(noun, member, struct list), 0, max,  \
            NULL, NULL, about, UNIT_NONE                                       \
    }

/* The schema of struct noun, whose rows are noun_fields[]. */
#define SCHEMA(noun, sentence)                                                 \
    .name = #noun, .about = (sentence), .size = sizeof(struct noun),           \
    .fields = noun##_fields,                                                   \
    .count = sizeof(noun##_fields) / sizeof(noun##_fields[0])

/* Bounds that several tables share. A number that is only shown stays exact in
 * JSON, where numbers are doubles. */
#define MAX_NUMBER ((UINT64_C(1) << 53) - 1)
#define SHA256_BYTES 64
#define MAX_WORD_BYTES 64 /* a code, a state, a MIME type's like */
#define MAX_SENTENCE_BYTES 1024

#endif
