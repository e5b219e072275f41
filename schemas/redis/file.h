/* file.h - commands and replies of library/files.lua: records of files that
 * were uploaded. Builders and readers follow the rules of transition.h. */
#ifndef SCHEMAS_REDIS_FILE_H
#define SCHEMAS_REDIS_FILE_H

#include "schemas/redis/command.h"
#include "schemas/redis/names.h"
#include "schemas/redis/reply.h"

enum {
    FILE_ID_BYTES = 30,   /* "file-", 24 digits, NUL */
    FILE_MAX_PAGE = 1000, /* records in one answer */
};

/* A record; what is read borrows from the reply. */
struct file_record {
    struct view id, name, purpose, mime, blob;
    uint64_t bytes;
    uint64_t created_at, expires_at; /* ms since 1970 */
};

/* A new id of now: files are listed in the order of their ids, which is that of
 * the time. */
void file_id_make(char id[FILE_ID_BYTES]);
bool file_id_is_valid(struct view id);

/* Makes the record of a blob that is there; both live for life_ms.
 * missing_blob; too_large: the tenant has 10,000 files. */
void transition_file_set(struct command *command, const struct names *names,
                         unsigned int partition, struct view tenant,
                         const struct file_record *file, uint64_t life_ms);
/* Fills the times. */
bool transition_file_is_set(const redisReply *reply, struct file_record *file,
                            struct err *err);

void transition_file_rm(struct command *command, const struct names *names,
                        unsigned int partition, struct view tenant,
                        struct view id);
/* Whether the tenant had the file. */
bool transition_file_removed(const redisReply *reply, bool *was,
                             struct err *err);

struct file_page {
    bool ascending;      /* the oldest first */
    uint64_t count;      /* 1 to FILE_MAX_PAGE */
    struct view after;   /* an id; empty: from the beginning */
    struct view purpose; /* empty: any */
};
void transition_file_list(struct command *command, const struct names *names,
                          unsigned int partition, struct view tenant,
                          const struct file_page *page);
/* The number of records; more: there are others behind them. */
bool transition_file_listed(const redisReply *reply, size_t *count, bool *more,
                            struct err *err);
/* Record index of such a reply; false: it is malformed. */
bool transition_file_row(const redisReply *reply, size_t index,
                         struct file_record *file);

/* Asks for one record. */
void file_ask(struct command *command, const struct names *names,
              unsigned int partition, struct view id);
/* False: the tenant has no such file. */
bool file_read(const redisReply *reply, struct view id, struct view tenant,
               struct file_record *file);

#endif
