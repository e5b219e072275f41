/* names.h - what every key and channel is called.
 *
 * A partition is a hash tag: all keys of its queues share one slot of a Redis
 * Cluster, so a transition may touch them together. ROOT is
 * "<prefix>{<partition, 3 hex digits>}:", by default "quern:{000}:".
 *
 *   ROOT work:<queue>:<priority>  stream, field id; group "consumers"
 *   ROOT job:<id>                 hash: the facts of a job
 *   ROOT body:<id>                string: the bytes of submit
 *   ROOT journal:<id>             list of records (schemas/message/journal.h)
 *   ROOT events:<id>              stream; entry <seq>-0, field event; also the
 *                                 channel on which the same bytes are published
 *   ROOT result:<id>              string (schemas/message/result.h)
 *   ROOT idem:<tenant>:<key>      string: the job's id
 *   ROOT dead:<queue>             sorted set of ids by time: failed for good
 *   ROOT control                  channel: "cancel <id>", wakes beats early
 *   ROOT blob:<sha256>            string: bytes of a file or image
 *   ROOT refs:<sha256>            sorted set of who needs that blob
 *   ROOT session:<tenant>/<name>  hash: a session (schemas/message/session.h)
 *   ROOT sessions                 sorted set of <tenant>/<name> by when the
 *                                 session expires
 *   ROOT line:<tenant>/<name>     sorted set: jobs that wait for the session
 *
 * Beside the partitions, "<prefix>fleet" is a hash of what all of the fleet
 * agree on: partitions, how many there are. All of one tenant is in one of
 * them, so that its keys may be unique and its limits exact.
 */
#ifndef SCHEMAS_REDIS_NAMES_H
#define SCHEMAS_REDIS_NAMES_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/job.h"

#define NAMES_GROUP "consumers"

enum {
    NAMES_MAX_PREFIX = 64,
    NAMES_MAX_KEY = 512,
    NAMES_MAX_PARTITIONS = 256, /* of a fleet */
};

/* One key, NUL-terminated: short enough to live on the stack. */
struct key {
    char text[NAMES_MAX_KEY];
    size_t len;
};
struct view key_view(const struct key *key);

struct names {
    char prefix[NAMES_MAX_PREFIX + 1]; /* "quern:" */
};

/* prefix: up to NAMES_MAX_PREFIX of [A-Za-z0-9:._-]. Error: bad_setting. */
bool names_init(struct names *names, const char *prefix, struct err *err);

/* Of a tenant's jobs, sessions and blobs, in a fleet of so many partitions. */
unsigned int names_partition(struct view tenant, unsigned int partitions);
/* In a cluster: of all keys of the partition. */
unsigned int names_slot(const struct names *names, unsigned int partition);

#define NAMES_FLEET_PARTITIONS "partitions"
struct key names_fleet(const struct names *names);

struct key names_root(const struct names *names, unsigned int partition);
struct key names_work(const struct names *names, unsigned int partition,
                      struct view queue, int priority);
struct key names_dead(const struct names *names, unsigned int partition,
                      struct view queue);
struct key names_control(const struct names *names, unsigned int partition);
struct key names_blob(const struct names *names, unsigned int partition,
                      struct view sha256);
struct key names_session(const struct names *names, unsigned int partition,
                         struct view tenant, struct view session);
struct key names_sessions(const struct names *names, unsigned int partition);
/* The rest take a job id, which names its partition; id_parse() it first. */
struct key names_job(const struct names *names, struct view id);
struct key names_journal(const struct names *names, struct view id);
struct key names_events(const struct names *names, struct view id);
struct key names_result(const struct names *names, struct view id);

#endif
