/* door.h - the way out of one box: who comes through, and how much.
 *
 * A door belongs to one session for its life, so its limits are the session's:
 * connections at once, new ones a second, lookups at once, bytes a second and
 * bytes in all. */
#ifndef EXECUTOR_PROXY_DOOR_H
#define EXECUTOR_PROXY_DOOR_H

#include <uv.h>

#include "executor/base/loop.h"
#include "executor/proxy/hosts.h"
#include "schemas/message/limits.h"

enum {
    MAX_LINKS = 32,        /* of a session at once; the next ones are told */
    MAX_TOLD_LINKS = 8,    /* ... these; and those behind them wait */
    MAX_ALL_LINKS = 4096,  /* of all sessions: 64 KiB each */
    MAX_LOOKUPS = 4,       /* of a session at once; the next ones wait */
    LINKS_PER_S = 20,      /* new ones; each is a line in the log */
    LINKS_AT_ONCE = 64,    /* new ones after a pause */
    BYTES_PER_S = 8 << 20, /* both directions together */
};

/* The operator's, for all doors. */
struct policy {
    struct hosts hosts;
    uint64_t most_bytes; /* of a door, in all */
};

struct proxy_link;

struct door {
    struct door *next;
    uint64_t number;
    char name[MAX_NAME_BYTES + 1]; /* of the session, once it is known */
    const struct policy *policy;
    uv_tcp_t listener;
    bool closed; /* it goes when no lookup is left */
    struct loop_alarm *alarm;
    bool waking;  /* it is set */
    bool knocked; /* somebody waits to be let in */
    struct proxy_link *links;
    unsigned int open;     /* links */
    unsigned int admitted; /* of them: asked for something, and may */
    unsigned int lookups;  /* names being resolved */
    uint64_t seen_ms;      /* when these were filled up: */
    int64_t entries;       /* links that may come in, times 1000 */
    int64_t allowance;     /* bytes that may pass */
    uint64_t passed;       /* bytes, in all */
};

/* Takes the listening socket. NULL: it is none. */
struct door *door_new(uv_loop_t *loop, uint64_t number, int listener,
                      const struct policy *policy);
/* Every link ends; the door goes when the last lookup has come back. */
void door_free(struct door *door);

/* Bytes have passed. */
void door_count(struct door *door, size_t bytes);
/* Bytes may pass now; if not, link_resume() comes when they may. */
bool door_is_wide(const struct door *door);
/* Its session has no bytes left. */
bool door_is_used_up(const struct door *door);
/* One more link may go out; false: too many do. */
bool door_admit(struct door *door);
/* A link is over, or a lookup, whosever it was: others may come. */
void door_leave(struct door *door, bool admitted);
void door_looked_up(struct door *door);

#endif
