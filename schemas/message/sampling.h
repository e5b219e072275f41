/* sampling.h - how a job wants its model to write: "temperature" and the
 * like.
 *
 * The names are those of chat-completions, whatever the endpoint's dialect. A
 * name that is not in this table is refused, because otherwise nobody would
 * notice a misspelt parameter. */
#ifndef SCHEMAS_MESSAGE_SAMPLING_H
#define SCHEMAS_MESSAGE_SAMPLING_H

#include <msgpack.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum sampling_kind {
    SAMPLING_NUMBER,
    SAMPLING_INTEGER,
    SAMPLING_WORD, /* a-z, A-Z, 0-9, _ and - */
    SAMPLING_STOP, /* a text, or a list of texts */
    SAMPLING_BOOL,
    SAMPLING_CHOICE, /* one of the words */
};

struct sampling {
    const char *name; /* NULL ends the table */
    enum sampling_kind kind;
    double least, most;       /* of a number */
    const char *const *words; /* of a choice; ends in NULL */
};

enum { MAX_STOPS = 16, MAX_STOP_BYTES = 256, MAX_WORD_BYTES = 32 };

/* NULL: there is none of that name. */
const struct sampling *sampling_find(struct view name);

/* A job's map of them. Error: bad_field, "parameters.temperature: is 3, ..." */
bool sampling_check(const msgpack_object *map, struct err *err);

#endif
