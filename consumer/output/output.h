/* output.h - the output of a cell: streams, displays, files.
 *
 * Followers get the output as it comes; the result and the model get readable
 * streams and the text of displays. All else (richer forms, files, streams
 * whose text differs from their bytes) becomes blobs before the journal's
 * record of the cell is written, so the record only names bytes that are
 * stored. A job may have a bounded amount of each; notes say what was dropped.
 *
 * When the link to the executor broke, output comes again from its first byte.
 * What was seen before is left out: streams by their offsets, displays by their
 * numbers.
 *
 * The activity cell.c has one, for one cell. */
#ifndef CONSUMER_OUTPUT_H
#define CONSUMER_OUTPUT_H

#include "consumer/output/progress.h"
#include "schemas/message/frame.h"
#include "schemas/message/journal.h"
#include "schemas/message/text.h"

enum { OUTPUT_STREAMS = 2 }; /* stdout, stderr */

struct output_setup {
    struct progress *progress;
    const struct names *names;
    size_t *memory_left; /* bytes for whole streams, shared by all attempts */
    /* How many bytes were stored of displays that were cleared or replaced, in
     * all cells of the attempt: they count against the job's share, for they
     * are in Redis. */
    uint64_t *void_bytes;
    uint64_t blob_ttl_ms;
    store_done *stored; /* called for every blob, written or refused */
    void *owner;
};

/* stdout or stderr. Positions are bytes from the beginning of the stream. */
struct output_stream {
    struct fold fold;
    struct buf whole; /* its bytes since the last clear, while there is room */
    uint64_t at;   /* the position of what comes next, if that has no offset */
    uint64_t seen; /* the end of what came so far; before it: once more */
    size_t told;   /* bytes told in events; bounded */
    uint64_t cleared; /* the position of the last clear */
    bool torn;        /* there was no room: whole is empty */
    bool gap;         /* some bytes did not come: whole ends before them */
};

/* What clear_output() has asked for: at once, or when more output comes. A cell
 * may clear hundreds of times a second. Followers are told of so many clears as
 * they can see; in between their events are held, and then they get what
 * stands. */
struct clear_state {
    uint64_t asked, done; /* the numbers of the last ones, from 1; 0: none */
    uint64_t first;       /* the number of the first of those that wait */
    bool waits;           /* for more output */
    bool held;            /* followers are not told what comes */
    bool fresh;           /* they have been told nothing since the last clear */
    uint64_t told;        /* how many clears followers were told of, */
    uint64_t told_ms;     /* ... the last one when, by the loop's clock */
    uint64_t started_ms;  /* when the cell began, likewise */
};

/* What was there before the cell; the first of these that has a file counts.
 * All borrowed. */
struct earlier_output {
    const struct record *records; /* of earlier cells of the job */
    size_t count;
    const struct list *given; /* of struct file_ref: the job's own files */
    const struct list *saved; /* of struct session_file: of earlier jobs */
};

struct output {
    struct output_setup setup;
    struct view call; /* our id of it; borrowed */
    uint64_t item;    /* the number of the call's item */
    struct earlier_output earlier;
    size_t cell_at; /* index of the cell among those of the job */
    /* What is left of the job's shares: how many images, forms beside text, and
     * files; and the bytes of all displays. */
    size_t images_left, parts_left, files_left;
    uint64_t bytes_left;
    struct arena arena;            /* of all below */
    struct output_stream *streams; /* OUTPUT_STREAMS, while there is a call */
    uint64_t display_at, displays_seen; /* as at and seen of a stream */
    uint64_t displays_came;             /* how many of those seen really came */
    struct clear_state clearing;
    struct list updates; /* of struct display: updates of earlier cells' ones */
    struct list images;  /* of struct image_ref */
    struct list displays; /* of struct display */
    struct list changes;  /* of struct cell_file: files that the cell changed */
    struct list files;    /* of struct file_ref: those that clients get */
    size_t change_at;     /* the first so many changes are settled, see
                             output_wanted() */
    struct buf notes;     /* what was dropped, a line each */
    struct cell cell;     /* as the executor told it; valid once it has ended */
    bool ended;           /* output_cell() was called */
    bool emptied;         /* files that cells had written were lost */
};

/* Copies setup, borrows what it points to; ready for output_begin(). */
void output_init(struct output *output, const struct output_setup *setup);
void output_finish(struct output *output);

/* A new call, whose output was not seen before. item: its number. */
void output_begin(struct output *output, struct view call, uint64_t item,
                  struct earlier_output earlier);
/* The output comes from its first byte on. again: of the same run, whose
 * beginning was seen; else it is as if nothing had come. */
void output_start(struct output *output, bool again);
/* Some output has come. */
bool output_any(const struct output *output);
/* Output comes. What was seen before is left out, and what is missing is noted.
 * offset: the position of the bytes in the stream, frame->number: that of the
 * display, from 1; 0: it follows what came last. */
void output_stream(struct output *output, struct view name, uint64_t offset,
                   struct view bytes);
void output_display(struct output *output, const struct frame *frame);
/* output_display.c: replaces every display with its id, in this cell and in
 * earlier ones of the job. If there is none (an earlier job has shown it), it
 * is shown as new. */
void output_update(struct output *output, const struct frame *frame);
/* Drops what came so far, at once or when more comes (frame->wait). */
void output_clear(struct output *output, const struct frame *frame);
/* The end of the cell; displays: as many as it had. files: of struct
 * workspace_file. emptied: those that cells had written were lost. */
void output_cell(struct output *output, const struct cell *cell,
                 uint64_t displays, const struct list *files, bool emptied);

/* Fills in cell, images and files of the record, which borrows them from the
 * output. Stores streams as blobs; to be called once. */
void output_record(struct output *output, struct view code,
                   struct record *record);

/* The path in the workspace of the next file whose bytes are wanted; empty:
 * there is none. output_file() then takes its bytes, or why there are none. A
 * file with the same bytes as before the cell is left out. */
struct view output_wanted(struct output *output);
void output_file(struct output *output, struct view bytes,
                 const struct err *why);
/* A base name for a path of any bytes, in the arena; 8 bytes shorter than a
 * name may be, for a number before it. */
struct view file_name_of(struct view path, struct arena *arena);

/* For the files that make an output only.
 *
 * -------- output.c */

void output_note(struct output *output, struct view name, const char *why);
struct view output_blob(struct output *output, struct view bytes);

/* More output comes, for which clears had waited: they are done now, up to the
 * one with that number. */
void output_more(struct output *output, uint64_t clears);
/* Whether followers' events are held. If so, and it is time to (or last: the
 * cell has ended), they are told what stands now. False: the caller tells them
 * what comes. */
bool output_is_held(struct output *output, bool last);

/* -------- output_display.c */

/* Notes the number of a display or update. False: it was seen before. */
bool output_is_new(struct output *output, uint64_t number);
void output_tell_display(struct output *output, const struct display *display);
/* Drops all displays of the cell, and gives back their shares of the job. */
void output_clear_displays(struct output *output);

#endif
