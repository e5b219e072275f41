/* names.h - the names of all keys and channels, and functions that make them.
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
 *   ROOT unique:<tenant>:<key>    string: id of the job that has the key
 *   ROOT dead:<queue>             sorted set: ids of failed jobs, by their end
 *   ROOT control                  channel: "cancel <id>",
 *                                 "pause|resume <queue>", "drain <consumer>"
 *   ROOT blob:<sha256>            string: bytes of a file or image
 *   ROOT refs:<sha256>            sorted set of who needs that blob
 *   ROOT session:<tenant>/<name>  hash: a session (schemas/message/session.h)
 *   ROOT sessions                 sorted set: <tenant>/<name>, by the time when
 *                                 the session expires
 *   ROOT line:<tenant>/<name>     sorted set: jobs of the session that have not
 *                                 ended; the first may run
 *
 *   ROOT lane:<queue>/<tenant>:<priority>
 *                                 list of "<place>:<id>:<body>": jobs of one
 *                                 tenant that wait outside of the work streams;
 *                                 up to 1 KiB of body, else it has its own key
 *   ROOT lanes:<queue>            hash: tenant, how many jobs wait in its lanes
 *   ROOT behind:<queue>           set: ids that only wait for others of their
 *                                 session
 *   ROOT ready:<queue>/<tenant>   sorted set: ids that stand in the streams and
 *                                 were not started, by the time when they came
 *   ROOT running:<queue>/<tenant> set: ids that run; only where a limit is set
 *   ROOT rate:<queue>/<tenant>    string: until when the tenant's rate is used
 *                                 up
 *   ROOT spent:<queue>/<tenant>   hash: what of its budget the tenant has spent
 *                                 in this period
 *   ROOT leases:<queue>           sorted set: ids that run, by the end of their
 *                                 lease
 *   ROOT scheduled:<queue>        sorted set: ids in states scheduled and
 *                                 waiting, by the time when they go on
 *   ROOT resting:<reason>:<queue> sorted set: those of them that wait for a
 *                                 budget or an endpoint
 *   ROOT wakes:<queue>            sorted set: tenants, by the time when jobs of
 *                                 their lanes may start
 *   ROOT deadlines                sorted set: ids of jobs with a deadline, by
 *                                 that deadline
 *   ROOT mark                     string: see durability.h
 *   ROOT taken:<consumer>         string: ticket and ids of its last take
 *   ROOT queues                   set: queues that are served, or had a job
 *   ROOT queue:<queue>            hash: settings of operators (operate.h)
 *   ROOT schedules                sorted set: names of schedules, by the time
 *                                 when they are due
 *   ROOT schedule:<name>          hash: a schedule (operate.h)
 *   ROOT file:<id>                hash: the record of a file that was uploaded
 *                                 (file.h)
 *   ROOT files:<tenant>           sorted set: ids of its files, by time; beside
 *                                 it file_ends:<tenant>, by when they expire
 *   ROOT workers                  sorted set: consumers, by their last report
 *   ROOT worker:<consumer>        hash: what it reports of itself (upkeep.h)
 *
 * schemas/KEYS.md has all keys, with their times to live.
 *
 * A tenant, or the name of a session, is a label: any UTF-8 (label_is_valid()).
 * Wherever <tenant> stands above, and the <name> of a session, also in members
 * of sets and fields of hashes, it is encoded: see names_encode(). Facts and
 * messages have the label itself.
 *
 * Beside the partitions, the hash "<prefix>fleet" says how many partitions the
 * fleet has. All jobs of one tenant are in one of them, so that idempotency
 * keys are unique and limits exact. In the same slot of a cluster:
 *
 *   <prefix>{<prefix>fleet}:waits   sorted set: model endpoints that consumers
 *                                   leave alone, by the time until which
 *                                   (endpoint.h)
 *   <prefix>{<prefix>fleet}:counts  hash: requests to endpoints
 */
#ifndef SCHEMAS_REDIS_NAMES_H
#define SCHEMAS_REDIS_NAMES_H

#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

#define NAMES_GROUP "consumers"

enum {
    NAMES_MAX_PREFIX = 64,
    NAMES_MAX_KEY = 1024,
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
/* Whether names_init() takes it: for a setting's row. */
bool names_check_prefix(const char *prefix, struct err *err);

/* The tenant, or queue, of that name; "default" when the name is empty. */
struct view names_or_default(struct view name);

/* A label as it stands in keys: every byte but A-Z a-z 0-9 . _ - becomes %XX,
 * digits in upper case. No two labels have the same form, and none has a byte
 * in it that separates the parts of a key. library/args.lua has the same. */
struct encoded_label {
    char text[3 * MAX_NAME_BYTES + 1];
};
struct encoded_label names_encode(struct view label);
/* The label of an encoded one, NUL-terminated; false: it is not encoded as
 * names_encode() does, or no label. */
bool names_decode(struct view encoded, char label[MAX_NAME_BYTES + 1]);

/* Here and in what follows, tenants and sessions are the labels, not encoded,
 * and ids are valid (id_parse()); names of queues have at most MAX_NAME_BYTES.
 * These are asserted. */
/* The partition of a tenant's jobs, sessions and blobs, in a fleet of so many.
 */
unsigned int names_partition(struct view tenant, unsigned int partitions);
/* The slot in a cluster of all keys of the partition. */
unsigned int names_slot(const struct names *names, unsigned int partition);

#define NAMES_FLEET_PARTITIONS "partitions"
struct key names_fleet(const struct names *names);
/* what: "waits" or "counts". */
struct key names_of_fleet(const struct names *names, const char *what);

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
struct key names_spent(const struct names *names, unsigned int partition,
                       struct view queue, struct view tenant);
/* "lanes", "scheduled", "leases", "queue": a queue's own. */
struct key names_of_queue(const struct names *names, unsigned int partition,
                          const char *what, struct view queue);
/* "deadlines", "drained", "queues", "schedules", "workers": the partition's.
 */
struct key names_of_root(const struct names *names, unsigned int partition,
                         const char *what);
struct key names_schedule(const struct names *names, unsigned int partition,
                          struct view name);
/* id: of a file (file_id_is_valid()). */
struct key names_file(const struct names *names, unsigned int partition,
                      struct view id);
struct key names_conversation(const struct names *names, unsigned int partition,
                              struct view uuid);
/* "container", "container_jobs": of a container by its id. */
struct key names_container(const struct names *names, unsigned int partition,
                           const char *what, struct view id);
/* Of a request, by its tenant and its bytes. */
struct key names_repeats(const struct names *names, unsigned int partition,
                         struct view sha256);
struct key names_worker(const struct names *names, unsigned int partition,
                        struct view consumer);
/* The rest take a job id, which names its partition; id_parse() it first. */
struct key names_job(const struct names *names, struct view id);
struct key names_body(const struct names *names, struct view id);
struct key names_journal(const struct names *names, struct view id);
struct key names_events(const struct names *names, struct view id);
struct key names_result(const struct names *names, struct view id);
struct key names_asked(const struct names *names, struct view id);

#endif
