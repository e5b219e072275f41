/* output.h - what a cell gives: streams, displays, files.
 *
 * Told to followers as it comes, kept (head and tail) for the result and the
 * model. Images and files become blobs as they come, so that the journal's
 * record of the cell only names bytes that are stored. */
#ifndef CONSUMER_OUTPUT_H
#define CONSUMER_OUTPUT_H

#include "consumer/attempt/progress.h"
#include "consumer/text.h"
#include "schemas/message/frame.h"
#include "schemas/message/journal.h"

enum { OUTPUT_STREAMS = 2 }; /* stdout, stderr */

struct output_stream {
    struct excerpt kept;
    size_t skip; /* bytes that were seen before the link broke */
    size_t told; /* bytes in events; bounded */
};

struct output {
    struct progress *progress;
    const struct names *names;
    uint64_t blob_ttl_ms;
    store_done *stored; /* told of every blob that was written or refused */
    void *owner;

    struct view call;
    uint64_t cell_at;                   /* index of the cell in the result */
    size_t images_before, files_before; /* of the job, by earlier cells */
    struct arena arena;                 /* all below */
    struct output_stream streams[OUTPUT_STREAMS];
    size_t displays_seen, displays_skip;
    struct list images;   /* of struct image_ref */
    struct list files;    /* of struct file_ref */
    struct list displays; /* of struct view */
    struct list wanted;   /* of struct workspace_file: to be fetched */
    struct buf notes;     /* what was dropped, a sentence each */
    struct cell cell;     /* without code, streams, displays */
    bool ended;
};

/* Borrows all; ready for output_begin(). */
void output_init(struct output *output, struct progress *progress,
                 const struct names *names, uint64_t blob_ttl_ms,
                 store_done *stored, void *owner);
void output_finish(struct output *output);

/* A new call. */
void output_begin(struct output *output, struct view call, uint64_t cell_at,
                  size_t images_before, size_t files_before);
/* All that the cell gives comes from its first byte on. again: the same run,
 * of which we saw the beginning; else it is as if nothing had come. */
void output_start(struct output *output, bool again);
void output_stream(struct output *output, struct view name, struct view bytes);
void output_display(struct output *output, const struct list *bundle);
/* The end of the cell; files: of struct workspace_file. */
void output_cell(struct output *output, const struct cell *cell,
                 const struct list *files);
/* One of the wanted files: its bytes, or why there are none. */
void output_file(struct output *output, const struct workspace_file *from,
                 struct view bytes, const struct err *why);

/* The cell, images and files of the record; borrowed from the output. */
void output_record(struct output *output, struct view code,
                   struct record *record);

#endif
