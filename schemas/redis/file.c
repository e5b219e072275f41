/* file.c - commands and replies of library/files.lua. */
#include "schemas/redis/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "schemas/message/id.h"
#include "schemas/redis/step.h"

/* ---------------------------------------------------------------------- ids */

void file_id_make(char id[FILE_ID_BYTES])
{
    unsigned char random[6];
    unsigned long long now_ms;
    struct timespec now;
    int len;

    clock_gettime(CLOCK_REALTIME, &now);
    now_ms = 1000ULL * (unsigned long long)now.tv_sec +
             (unsigned long long)now.tv_nsec / 1000000;
    len = snprintf(id, FILE_ID_BYTES, "file-%012llx", now_ms & 0xffffffffffff);
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        abort();
    for (size_t i = 0; i < sizeof(random); i++)
        len += snprintf(id + len, (size_t)(FILE_ID_BYTES - len), "%02x",
                        random[i]);
}

bool file_id_is_valid(struct view id)
{
    if (id.len != FILE_ID_BYTES - 1 || !view_starts(id, "file-"))
        return false;
    for (size_t i = 5; i < id.len; i++)
        if (!byte_is_of(id.data[i], "0123456789abcdef"))
            return false;
    return true;
}

/* ----------------------------------------------------------------- commands */

void transition_file_set(struct command *command, const struct names *names,
                         unsigned int partition, struct view tenant,
                         const struct file_record *file, uint64_t life_ms)
{
    step_begin(command, "quern_v1_file_set", names, partition);
    command_add(command, tenant);
    command_add(command, file->id);
    command_add_uint(command, life_ms);
    command_add(command, file->blob);
    command_add_uint(command, file->bytes);
    command_add(command, file->name);
    command_add(command, file->purpose);
    command_add(command, file->mime);
}

bool transition_file_is_set(const redisReply *reply, struct file_record *file,
                            struct err *err)
{
    redisReply **part = step_expect(reply, "file_set", 2, err);

    if (!part)
        return false;
    file->created_at = step_uint(part[0]);
    file->expires_at = step_uint(part[1]);
    return true;
}

void transition_file_rm(struct command *command, const struct names *names,
                        unsigned int partition, struct view tenant,
                        struct view id)
{
    step_begin(command, "quern_v1_file_rm", names, partition);
    command_add(command, tenant);
    command_add(command, id);
}

bool transition_file_removed(const redisReply *reply, bool *was,
                             struct err *err)
{
    if (!reply_ok(reply, err))
        return false;
    *was = step_uint(reply);
    return true;
}

void transition_file_list(struct command *command, const struct names *names,
                          unsigned int partition, struct view tenant,
                          const struct file_page *page)
{
    step_begin(command, "quern_v1_file_list", names, partition);
    command_add(command, tenant);
    command_add_text(command, page->ascending ? "asc" : "desc");
    command_add_uint(command, page->count);
    command_add(command, page->after);
    command_add(command, page->purpose);
}

void file_ask(struct command *command, const struct names *names,
              unsigned int partition, struct view id)
{
    static const char *const facts[] = { "name",       "purpose", "mime",
                                         "blob",       "bytes",   "created_at",
                                         "expires_at", "tenant" };
    struct key key = names_file(names, partition, id);

    command_init(command, "HMGET");
    command_add_copy(command, key_view(&key));
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        command_add_text(command, facts[i]);
}

/* ------------------------------------------------------------------ replies */

enum { FILE_FACTS = 7 }; /* name to expires_at */

/* False: they are not those of a record. */
static bool read_facts(redisReply *const *facts, struct view id,
                       struct file_record *file)
{
    *file = (struct file_record){
        .id = id,
        .name = step_text(facts[0]),
        .purpose = step_text(facts[1]),
        .mime = step_text(facts[2]),
        .blob = step_text(facts[3]),
        .bytes = reply_number(facts[4]),
        .created_at = reply_number(facts[5]),
        .expires_at = reply_number(facts[6]),
    };
    return file_path_is_valid(file->name) && id_is_sha256(file->blob) &&
           file->bytes <= MAX_FILE_BYTES;
}

bool file_read(const redisReply *reply, struct view id, struct view tenant,
               struct file_record *file)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements > FILE_FACTS &&
           view_equal(step_text(reply->element[FILE_FACTS]), tenant) &&
           read_facts(reply->element, id, file);
}

bool transition_file_listed(const redisReply *reply, size_t *count, bool *more,
                            struct err *err)
{
    redisReply **part = step_expect(reply, "file_list", 1, err);

    if (!part)
        return false;
    *more = step_uint(part[0]);
    *count = reply->elements - 1;
    return true;
}

bool transition_file_row(const redisReply *reply, size_t index,
                         struct file_record *file)
{
    const redisReply *row = reply->element[index + 1];

    return row->type == REDIS_REPLY_ARRAY && row->elements > FILE_FACTS &&
           read_facts(row->element + 1, step_text(row->element[0]), file);
}
