/* fleet.h - what the calls of quern_operate.h share: read-only commands, and
 * replies of Redis as C values. */
#ifndef PRODUCER_CLIENT_FLEET_H
#define PRODUCER_CLIENT_FLEET_H

#include "producer/client/handle.h"
#include "producer/client/quern_operate.h"
#include "schemas/redis/reply.h"

/* Sends "NAME key more...", a read-only command; key may be NULL, more ends in
 * NULL. freeReplyObject() the reply. */
redisReply *fleet_read(struct quern *quern, unsigned int partition,
                       const char *name, const struct key *key,
                       const char *const *more, struct err *err);
#define FLEET_READ(quern, partition, command, key, err, ...)                   \
    fleet_read(quern, partition, command, key,                                 \
               (const char *const[]){ __VA_ARGS__, NULL }, err)

/* Redis's clock, ms since 1970. */
bool fleet_now(struct quern *quern, uint64_t *now, struct err *err);

/* Error: bad_field, of a queue, tenant, schedule ... */
bool check_name(const char *what, struct view name, struct err *err);

struct view reply_view(const redisReply *reply); /* empty: no string */
/* The value of that name in a hash (a flat array); empty: none. */
struct view reply_field(const redisReply *hash, const char *name);
uint64_t reply_field_number(const redisReply *hash, const char *name);
/* As a NUL-terminated text, cut where it does not fit. */
void view_copy(char *text, size_t size, struct view view);

/* Makes room for one more item, zeroed, behind count of them, and gives the
 * list, which may have moved. count must grow by one from call to call; it may
 * also have been lowered. Aborts when memory is out. */
void *list_grow(void *items, size_t count, size_t size);

#endif
