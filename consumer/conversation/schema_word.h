/* schema_word.h - the words of a JSON Schema, and where in it or in a value we
 * are; for schema*.c only. */
#ifndef CONSUMER_SCHEMA_WORD_H
#define CONSUMER_SCHEMA_WORD_H

#include "consumer/conversation/schema.h"

/* Where we are: of a value, or of the schema itself. */
struct schema_path {
    const struct schema_path *outer;
    const char *name; /* NULL: index */
    size_t index;
    size_t depth;
};

struct schema_check {
    const json_t *root;
    size_t steps;
    const char *code;
    struct err *err;
};

/* schema.c: one place further in. */
struct schema_path place_inside(const struct schema_path *outer,
                                const char *name, size_t index);
/* Where it is wrong, and why. False, always. */
bool place_wrong(struct schema_check *check, const struct schema_path *place,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "is "x", must be a number" */
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
    /* NULL: it tells people something */
    bool (*fit)(struct schema_check *check, const struct schema_path *place,
                const json_t *schema, const json_t *word, const json_t *value);
};
/* schema_fit.c: NULL: there is none of that name. */
const struct keyword *keyword_find(const char *name);

/* What $ref means; NULL: nothing that is there. */
const json_t *schema_referred(const struct schema_check *check,
                              const json_t *word);

#endif
