/* endpoint.h - what consumers share about model endpoints, in two keys of the
 * fleet, and the commands for them.
 *
 *   waits   a sorted set of ids; the score is the time until which consumers
 *           leave the endpoint alone (ms since 1970, by Redis's clock). Redis
 *           keeps it for eight days after the last write.
 *   counts  a hash: "<id> <count>" is a number; "<id> <note>" is a text, of
 *           which the latest stays. Redis keeps it for 30 days after the last
 *           write.
 *
 * An id is "NAME#0123456789abcdef": the name that jobs give the endpoint, at
 * most 64 bytes, and digits of a hash of name, URL, model and dialect. So two
 * consumers with different settings for a name do not share counts. Names may
 * have spaces and "#"; counts and notes have none. A reader ignores a count or
 * note that it does not know. */
#ifndef SCHEMAS_REDIS_ENDPOINT_H
#define SCHEMAS_REDIS_ENDPOINT_H

#include <stdbool.h>

#include "schemas/message/view.h"
#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

enum {
    ENDPOINT_NAME_BYTES = 64,
    ENDPOINT_DIGITS = 16,
    ENDPOINT_ID_BYTES = ENDPOINT_NAME_BYTES + 1 + ENDPOINT_DIGITS,
    ENDPOINT_DAY_MS = 24 * 3600 * 1000,
    ENDPOINT_LONGEST_MS = 7 * ENDPOINT_DAY_MS, /* no endpoint asks for more */
    ENDPOINT_MOST_WAITS = 256, /* that are read, the latest ones */
};

struct endpoint_id {
    char text[ENDPOINT_ID_BYTES + 1];
};

enum endpoint_count {
    COUNT_CALLS,      /* requests */
    COUNT_PAID_TWICE, /* requests sent again although the one before may be
                         charged */
    COUNT_RECOVERED,  /* replies that were fetched instead */
    COUNT_FAILURES,   /* requests without a reply */
    ENDPOINT_COUNTS,
};
extern const char *const endpoint_count_names[ENDPOINT_COUNTS];
enum endpoint_note {
    NOTE_HOST,        /* of its URL, with the port where that says one */
    NOTE_MODEL,       /* what it calls the model */
    NOTE_ANSWERED_AT, /* ms since 1970, by Redis's clock */
    NOTE_FAILED_AT,
    NOTE_ERROR_CODE, /* of that failure */
    NOTE_ERROR,      /* its sentence */
    ENDPOINT_NOTES,
};
extern const char *const endpoint_note_names[ENDPOINT_NOTES];
/* hash: at least ENDPOINT_DIGITS hexadecimal digits; the name is cut. */
struct endpoint_id endpoint_id_make(struct view name, const char *hash);
/* The name in an id; false: it is no id. Borrows from id. */
bool endpoint_id_read(struct view id, struct view *name);

/* Cuts a field "<id> <word>" of counts in two. False: there is no space in it.
 * The first part need not be an id: see endpoint_id_read(). */
bool endpoint_field_read(struct view field, struct view *id, struct view *word);

/* MULTI and EXEC, around the writes to one key, the last of which gives it a
 * time to live: a consumer that is killed in between must not leave a key that
 * stays for ever. */
void endpoint_begin(struct command *command);
void endpoint_end(struct command *command);

/* until: ms since 1970, by Redis's clock. The later of two waits stays. */
void endpoint_add_wait(struct command *command, const struct names *names,
                       const struct endpoint_id *id, uint64_t until);
/* Removes the waits that are over at that time. */
void endpoint_drop_waits(struct command *command, const struct names *names,
                         uint64_t now);
void endpoint_drop_wait(struct command *command, const struct names *names,
                        struct view id);
void endpoint_keep_waits(struct command *command, const struct names *names);
/* The reply is an array of ids and times in turn, the latest time first; of
 * ENDPOINT_MOST_WAITS ids at most. */
void endpoint_ask_waits(struct command *command, const struct names *names);

void endpoint_add_count(struct command *command, const struct names *names,
                        const struct endpoint_id *id, enum endpoint_count what,
                        uint64_t count);
/* Empty notes stay as they were. At least one must not be empty. */
void endpoint_set_notes(struct command *command, const struct names *names,
                        const struct endpoint_id *id,
                        const struct view notes[ENDPOINT_NOTES]);
void endpoint_keep_counts(struct command *command, const struct names *names);

#endif
