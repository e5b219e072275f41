/* form_body.h - the body of a request as multipart/form-data: fields and files.
 *
 *   form_init() --> form_receive() --> done, which looks at the fields
 *               --> form_write()   --> done: the files are blobs
 *
 * Until done the form is bounded by the route's max_body, FORM_MAX_..., and
 * --blob-memory. What it refuses it answers itself. */
#ifndef PRODUCER_GATEWAY_FORM_BODY_H
#define PRODUCER_GATEWAY_FORM_BODY_H

#include "producer/gateway/blob_writer.h"
#include "producer/gateway/http/multipart.h"
#include "schemas/message/field.h"

enum {
    FORM_MAX_FIELDS = 64,
    FORM_MAX_FIELD_BYTES = 4 << 10, /* of a value */
    FORM_MAX_NAME_BYTES = 256,      /* of a field's name */
    FORM_MAX_FILES = 50,
};

struct form_field {
    struct view name, value; /* the value is UTF-8 without NUL */
};

struct form_file {
    struct view field; /* the field's name */
    struct view name; /* a base name (file_name_is_valid()); with folders, where
                         the form keeps them */
    struct view mime; /* without parameters; "" when it is not known */
    uint64_t bytes;
    struct blob_writer writer; /* sha256: from form_write() on */
};

struct form_body {
    struct form_field fields[FORM_MAX_FIELDS];
    size_t field_count;
    struct form_file files[FORM_MAX_FILES];
    size_t file_count;
    bool keeps_folders; /* set it after form_init(): names are paths
                           (file_path_is_valid()) */
    /* Of form_body.c. */
    struct multipart reader;
    struct arena arena;
    struct blob_memory memory; /* of names and values */
    unsigned int partition;    /* of the blobs */
    struct buf value;          /* of the field that is being read */
    bool in_file;
    size_t written;     /* files */
    struct err refusal; /* of the piece that is being read */
    void (*done)(struct api_request *request);
};

void form_init(struct form_body *form, struct gateway *gateway,
               unsigned int partition);
void form_finish(struct form_body *form);

/* type: the value of Content-Type. Feed the body in pieces of any size; after
 * false, no more. */
bool form_begin(struct form_body *form, struct view type, struct err *err);
bool form_feed(struct form_body *form, struct view piece, struct err *err);
bool form_end(const struct form_body *form, struct err *err);

/* The value of a field; NULL: it is not there. */
const struct form_field *form_find(const struct form_body *form,
                                   const char *name);
/* The names of all fields and files are among known, which ends in NULL, and
 * are there once; a name that ends in "[]" may be there often. Else param gets
 * the name that is not so: false. */
bool form_check_names(const struct form_body *form, const char *const *known,
                      struct view *param, struct err *err);

/* -------- form_upload.c */

/* Reads the body of a route with ROUTE_FORM. form: of request->state; the
 * handler's state_free finishes it. */
void form_receive(struct api_request *request, struct form_body *form,
                  void (*done)(struct api_request *request));
/* Writes all files into blobs, which live for a day. Their memory is freed. */
void form_write(struct api_request *request, struct form_body *form,
                void (*done)(struct api_request *request));

#endif
