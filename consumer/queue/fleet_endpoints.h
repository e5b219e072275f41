/* profile.h - what the fleet has learned of its endpoints, and asked of them.
 *
 *   a consumer is refused a parameter, told a window --> hash   endpoints
 *   it is told to wait, or nothing is left           --> set    waits
 *   all others, when they are about to ask           <-- both
 *   what is asked, for operators                     --> hash   counts
 *
 * schemas/redis/endpoint.h has the fields. The later of two waits stays (ZADD
 * GT), whoever comes last. What two consumers call the same and is not is kept
 * apart.
 *
 * It is read before the first job, then with each lease, and when a request is
 * about to be made, at most ten times a second: while its intent is written, so
 * that both are there at about the same time, and the request waits AWAIT_MS
 * for it at the most. While Redis is away each consumer knows what it knows,
 * and tells what it has learned itself when Redis is back; what Redis refuses
 * is told again with a later look, every few seconds at most. All facts are
 * forgotten a day after the first of them was told, whatever was told since: an
 * endpoint may have been mended.
 *
 * Counts are summed up here and told once a second at most. What was counted
 * while Redis was away is told later; what is on its way when it goes is lost,
 * and so is the last second of a consumer. They are forgotten a month after the
 * last request. */
#ifndef CONSUMER_PROFILE_H
#define CONSUMER_PROFILE_H

#include "consumer/consumer.h"
#include "schemas/redis/endpoint.h"
#include "schemas/redis/link.h"

struct profile;

enum { PROFILE_AWAIT_MS = 1000 };

/* Both must outlive it. */
struct profile *profile_new(struct consumer *consumer, struct link *link);
void profile_free(struct profile *profile); /* the link is gone; accepts NULL */

/* The link is ready: all is asked, and told, anew. */
void profile_ready(struct profile *profile);
/* The endpoints are other ones. */
void profile_renew(struct profile *profile);
/* One of them is about to be asked. */
void profile_look(struct profile *profile);
/* It is being read: attempts that wait to ask go on soon. */
bool profile_is_awaited(const struct profile *profile);
/* Something of that one may be news. */
void profile_tell(struct profile *profile, struct model_endpoint *endpoint);
/* One more. */
void profile_count(struct profile *profile,
                   const struct model_endpoint *endpoint,
                   enum endpoint_count what);
/* What has come of a request; why NULL: a reply. */
void profile_ended(struct profile *profile,
                   const struct model_endpoint *endpoint,
                   const struct err *why);

#endif
