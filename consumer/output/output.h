/* output.h - the output of a cell: streams, displays, files.
 *
 * Followers get the output as it comes; the result and the model get readable
 * streams and the text of displays. All else (richer forms, files, streams
 * whose text differs from their bytes) becomes blobs before the journal's
 * record of the cell is written, so the record only names bytes that are
 * stored. A job may have a bounded amount of each; notes say what was dropped.
 */
#ifndef CONSUMER_OUTPUT_H
#define CONSUMER_OUTPUT_H

#include "consumer/fold.h"
#include "consumer/output/progress.h"
#include "schemas/message/frame.h"
#include "schemas/message/journal.h"

enum { OUTPUT_STREAMS = 2 }; /* stdout, stderr */

struct output_setup {
    struct progress *progress;
    const struct names *names;
    size_t *memory_left;  /* bytes for whole streams, shared by all attempts */
    uint64_t *void_bytes; /* stored of displays that are not there any more, in
                             all cells of the attempt */
    uint64_t blob_ttl_ms;
    store_done *stored; /* told of every blob that was written or refused */
    void *owner;
};

struct output_stream {
    struct fold fold;
    struct buf whole; /* its bytes from the first on, while there is room */
    uint64_t at;      /* where what comes next stands, unless it says so */
    uint64_t seen;    /* the end of what came; before it: once more */
    size_t told;      /* bytes in events; bounded */
    uint64_t cleared; /* where the last clear was: nothing before it counts */
    bool torn;        /* there was no room: whole is empty */
    bool gap;         /* some did not come: whole ends before that */
};

/* What clear_output() has asked for: now, or when there is more. Followers are
 * told as often as they can see it, and of what stands when the cell ends. */
struct clear_state {
    uint64_t asked, done; /* numbers of the last ones, from 1 */
    uint64_t first;       /* of those that wait */
    bool waits;
    bool held;  /* followers are not told what comes */
    bool fresh; /* they have been told nothing since the last one */
    uint64_t told, told_ms, started_ms;
};

/* What was there before the cell, each over what follows it. */
struct earlier_output {
    const struct record *records; /* of earlier cells of the job */
    size_t count;
    const struct list *given; /* of struct file_ref: the job's own files */
    const struct list *saved; /* of struct session_file: of earlier jobs */
};

struct output {
    struct output_setup setup;
    struct view call;
    struct earlier_output earlier;
    size_t cell_at;                             /* index of the cell */
    size_t images_left, parts_left, files_left; /* of the job's share */
    uint64_t bytes_left;                        /* of its displays */
    struct arena arena;                         /* all below */
    struct output_stream *streams; /* OUTPUT_STREAMS, while there is a call */
    uint64_t display_at, displays_seen; /* as at and seen of a stream */
    uint64_t displays_came;             /* of those seen */
    struct clear_state clearing;
    struct list updates;  /* of struct display, of earlier cells */
    struct list images;   /* of struct image_ref */
    struct list displays; /* of struct display */
    struct list changes;  /* of struct cell_file */
    struct list files;    /* of struct file_ref: those that are kept */
    size_t change_at;     /* changes before are settled: see output_wanted() */
    struct buf notes;     /* what was dropped, a line each */
    struct cell cell;     /* as the executor told it */
    bool ended, emptied;
};

/* Borrows all; ready for output_begin(). */
void output_init(struct output *output, const struct output_setup *setup);
void output_finish(struct output *output);

/* A new call; output_finish() forgets it, for those that come. */
void output_begin(struct output *output, struct view call,
                  struct earlier_output earlier);
/* All that the cell gives comes from its first byte on. again: the same run,
 * of which we saw the beginning; else it is as if nothing had come. */
void output_start(struct output *output, bool again);
/* Something has come. */
bool output_any(const struct output *output);
/* What comes again, after the link broke, is left out, and what does not come
 * is noted. offset, of bytes in the stream, and number, of the display from 1:
 * 0 where it is the one that follows. */
void output_stream(struct output *output, struct view name, uint64_t offset,
                   struct view bytes);
void output_display(struct output *output, const struct frame *frame);
/* output_update.c: of every display with its id, in this cell and in earlier
 * ones of the job. An earlier job's is shown anew. */
void output_update(struct output *output, const struct frame *frame);
void output_clear(struct output *output, const struct frame *frame);
/* output.c: the end of the cell; displays: as many as it had. files: of struct
 * workspace_file. emptied: those that cells had written were lost. */
void output_cell(struct output *output, const struct cell *cell,
                 uint64_t displays, const struct list *files, bool emptied);

/* The cell, images and files of the record; borrowed from the output. */
void output_record(struct output *output, struct view code,
                   struct record *record);

/* output_file.c: the next file whose bytes are wanted, as the workspace calls
 * it; empty: none. Then: its bytes, or why there are none. It is left out when
 * they are what was there under its name before. */
struct view output_wanted(struct output *output);
void output_file(struct output *output, struct view bytes,
                 const struct err *why);
/* A base name for a path of any bytes, with 8 bytes to spare. */
struct view file_name_of(struct view path, struct arena *arena);

/* For the files that make an output only.
 *
 * -------- output.c */

void output_tell_stream(struct output *output, size_t index, struct view bytes);
void output_clear_streams(struct output *output);
void output_note(struct output *output, struct view name, const char *why);
struct view output_blob(struct output *output, struct view bytes);
/* The same where their name is known. */
struct view output_store(struct output *output, struct view blob,
                         struct view bytes);

/* -------- output_display.c */

/* False: it was seen before. */
bool output_is_new(struct output *output, uint64_t number);
void output_add_bundle(struct output *output, struct display *display,
                       const struct list *bundle, bool update);
void output_show(struct output *output, const struct frame *frame);
void output_tell_display(struct output *output, const struct display *display);

/* -------- output_update.c */

/* The cell has put out more, when so many clears had come: what they waited to
 * clear is gone. */
void output_more(struct output *output, uint64_t clears);
/* Followers are told what stands, if they are to be told now; if not, nothing.
 * False: they are told everything as it comes. */
bool output_is_held(struct output *output, bool last);

/* -------- output_file.c */

void output_list_changes(struct output *output, const struct list *files);
/* Different ones: a file that was written again counts once. */
size_t output_kept_files(const struct earlier_output *earlier);

#endif
