/* schema_word.h - the words of a JSON Schema, and places in a schema or a
 * value; for schema*.c only. */
#ifndef CONSUMER_SCHEMA_WORD_H
#define CONSUMER_SCHEMA_WORD_H

#include "consumer/conversation/schema.h"

/* A place in a value, or in the schema itself, for error sentences:
 * "$.items[2]". Each is on the stack of the function that looks at it. */
struct schema_path {
    const struct schema_path *outer; /* NULL: this is "$" */
    const char *name; /* of a member; NULL: it is an item, by index */
    size_t index;
    size_t depth;
};

/* One check of a schema or a value. */
struct schema_check {
    const json_t *root; /* the whole schema, in which $ref is looked up */
    size_t steps;       /* so far; at most MAX_SCHEMA_STEPS */
    const char *code;   /* of errors: bad_field, bad_output */
    struct err *err;
};

/* schema.c: the place of a member or item inside of outer. */
struct schema_path place_inside(const struct schema_path *outer,
                                const char *name, size_t index);
/* Sets the error: where it is wrong, and why. Always false. */
bool place_wrong(struct schema_check *check, const struct schema_path *place,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, with the sentence "is "x", must be a number". */
bool place_wrong_value(struct schema_check *check,
                       const struct schema_path *place, const json_t *value,
                       const char *must);

enum keyword_form {
    FORM_ANY,
    FORM_TYPE,
    FORM_LIST,  /* not empty */
    FORM_NAMES, /* a list of texts */
    FORM_COUNT, /* 0 or more */
    FORM_NUMBER,
    FORM_SCHEMA,
    FORM_SCHEMAS, /* a list of them, not empty */
    FORM_MEMBERS, /* an object of them */
    FORM_OPEN,    /* a schema, true or false */
    FORM_REF,
};

struct keyword {
    const char *name;
    enum keyword_form form;
    /* Whether the value fits the word; NULL: the word only tells people
     * something. */
    bool (*fit)(struct schema_check *check, const struct schema_path *place,
                const json_t *schema, const json_t *word, const json_t *value);
};
/* schema_fit.c: the word of that name; NULL: there is none. */
const struct keyword *keyword_find(const char *name);

/* The schema that a $ref means; NULL: there is none. */
const json_t *schema_referred(const struct schema_check *check,
                              const json_t *word);

#endif
