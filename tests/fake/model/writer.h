/* writer.h - the bytes of a reply as they are written, piece by piece. */
#ifndef PRACTICE_WRITER_H
#define PRACTICE_WRITER_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct plan;

struct writer {
    struct plan *plan;
    FILE *out;
    const json_t *reply;
    const json_t *request; /* as it came */
    const char *model;
    const json_t *call; /* whose arguments are written, */
    size_t position;    /* and which it is */
    size_t blocks;      /* content blocks or items so far, */
    size_t events;      /* and events; for dialects that number them */
    json_t *output;     /* Responses: the items that are whole */
};

/* -------- speech.c */

/* Ends a piece here. */
void wrote_piece(struct writer *writer);

/* Each takes the value. name: NULL for an event without one. */
void write_json(struct writer *writer, json_t *value);
void write_event(struct writer *writer, const char *name, json_t *data);

/* A string cut into the texts of deltas, each told to write. */
void write_pieces(struct writer *writer, const json_t *value,
                  void (*write)(struct writer *writer, json_t *piece));

/* What the reply says of itself. */
json_int_t reply_integer(const json_t *reply, const char *name,
                         json_int_t otherwise);
const char *reply_finish(const json_t *reply); /* NULL: it leaves it out */
json_t *reply_usage(const json_t *reply, const json_t *request); /* or NULL */
/* An id that only this text has: of what is signed, or encrypted. */
json_t *seal(const char *prefix, const json_t *text);

#endif
