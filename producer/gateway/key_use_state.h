/* key_use_state.h - what key_use.c and key_look.c share.
 *
 *   key_use.c --key_look_page(), key_look_more()--> key_look.c
 *             <------------key_use_looked()--------
 */
#ifndef PRODUCER_GATEWAY_KEY_USE_STATE_H
#define PRODUCER_GATEWAY_KEY_USE_STATE_H

#include "producer/gateway/key_use.h"
#include "schemas/message/id.h"
#include "schemas/redis/names.h"

enum { KEY_USE_PAGE = 100 }; /* jobs of a look */

struct seen_job {
    struct id id;
    uint64_t at; /* when it was added, or looked at last; ms since 1970 */
};

/* One add, or the count of one job. */
struct key_use {
    struct api_request *request; /* held */
    struct id job;
    key_use_done *done;
    void *owner;
    struct seen_job seen[KEY_USE_PAGE]; /* of this look */
    size_t count, next, open;           /* of them: all, to be asked, asked */
    bool is_full;                       /* there may be more than these */
    bool has_ended;                     /* one of them */
    unsigned int looks;
    bool is_count; /* of one job: nothing is added */
    bool has_failed;
    struct err fault; /* why */
    struct err refused;
    uint64_t jobs, cost; /* of the key, now */
};

/* -------- key_use.c */

/* The set of the key's jobs; what they cost on this day, UTC. */
struct key key_use_jobs(const struct api_request *request);
struct key key_use_costs(const struct api_request *request);

/* These two finish the command. False: it was not sent, and the use fails. */
void key_use_tell(const struct api_request *request, struct command *command);
bool key_use_call(struct key_use *use, unsigned int partition,
                  struct command *command, link_done *done, void *owner);
/* Whether that is a good reply; else the use fails. */
bool key_use_hears(struct key_use *use, const redisReply *reply,
                   const struct err *why);
void key_use_expire(const struct api_request *request, const struct key *key,
                    uint64_t seconds);

/* All jobs of the look were looked at; frees a use that is over. */
void key_use_looked(struct key_use *use);

/* -------- key_look.c */

/* Looks at those that were not looked at for the longest time. */
void key_look_page(struct key_use *use);
/* Looks at what is left of use->seen. */
void key_look_more(struct key_use *use);

#endif
