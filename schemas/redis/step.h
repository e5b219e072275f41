/* step.h - what the files that call the Redis library have in common: how a
 * command begins, and how a reply is read. For transition, spend, session,
 * upkeep, operate and listing only. */
#ifndef SCHEMAS_REDIS_STEP_H
#define SCHEMAS_REDIS_STEP_H

#include "schemas/redis/transition.h"

/* FCALL <function> 1 ROOT; the key lives in the command itself. */
void step_begin(struct command *command, const char *function,
                const struct names *names, unsigned int partition);
void step_begin_job(struct command *command, const char *function,
                    const struct names *names, struct view id);
void step_begin_held(struct command *command, const char *function,
                     const struct names *names, struct job_lease lease);
/* Adds name and value; nothing when the value is empty, or zero. */
void step_add_pair(struct command *command, const char *name,
                   struct view value);
void step_add_number(struct command *command, const char *name, uint64_t value);
void step_add_events(struct command *command, const struct event_text *events,
                     size_t count);
/* The pairs of submit that a schedule has as well; body is not among them. */
void step_add_submit(struct command *command, const struct submit *submit);

/* The reply has a form that this build does not know: the library of another
 * build answered. Fills err (internal, ERR_RETRY), because no job is to blame;
 * returns false. */
bool step_misfit(struct err *err, const char *function);
/* The elements of an array of at least count; NULL with err. */
redisReply **step_expect(const redisReply *reply, const char *function,
                         size_t count, struct err *err);
struct view step_text(const redisReply *reply);
uint64_t step_uint(const redisReply *reply);
/* Which of the words the reply is, as an index. */
bool step_word(const redisReply *reply, const char *function,
               const char *const words[], size_t count, size_t *word,
               struct err *err);

#endif
