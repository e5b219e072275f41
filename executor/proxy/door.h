/* door.h - the way out of one box: who comes through, and how much.
 *
 * A door belongs to one box, and a box to one session, so its limits are the
 * session's: connections at once, new ones a second, look-ups at once, bytes a
 * second and bytes in all. A link that may not come in yet, or whose bytes may
 * not pass yet, waits; the door's alarm wakes it. */
#ifndef EXECUTOR_PROXY_DOOR_H
#define EXECUTOR_PROXY_DOOR_H

#include <uv.h>

#include "executor/base/loop.h"
#include "executor/proxy/hosts.h"
#include "schemas/message/limits.h"

enum {
    MAX_LINKS = 32,        /* of a session at once; the next ones are told */
    MAX_TOLD_LINKS = 8,    /* ... these are told; those behind them wait */
    MAX_ALL_LINKS = 4096,  /* of all sessions: each takes 64 KiB here */
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

/* Made at PROXY_OPEN. After door_free() it stays until its listener is closed
 * and its last look-up has come back. */
struct door {
    struct door *next;
    uint64_t number;               /* the warden's */
    char name[MAX_NAME_BYTES + 1]; /* of the session, once it is known */
    const struct policy *policy;
    uv_tcp_t listener;
    bool closed;              /* it goes when no look-up is left */
    struct loop_alarm *alarm; /* NULL: the door is being freed */
    bool waking;              /* the alarm is set */
    bool knocked; /* a connection waits to be accepted: libuv tells of the next
                     one only then */
    struct proxy_link *links;
    unsigned int open;     /* links that have not ended */
    unsigned int admitted; /* of them, those whose request was allowed */
    unsigned int lookups;  /* names being resolved, also of links that ended */
    uint64_t seen_ms;      /* when the next two were filled up */
    int64_t entries;       /* links that may come in, times 1000 */
    int64_t allowance;     /* bytes that may pass; below 0: too many have */
    uint64_t passed;       /* bytes so far, of both directions */
};

/* Takes the listening socket. NULL: it is none that can be listened on. */
struct door *door_new(uv_loop_t *loop, uint64_t number, int listener,
                      const struct policy *policy);
/* Every link ends. The caller must not use the door any more. */
void door_free(struct door *door);

/* Bytes have passed. */
void door_count(struct door *door, size_t bytes);
/* Bytes may pass now; if not, link_resume() comes when they may. */
bool door_is_wide(const struct door *door);
/* Its session has no bytes left. */
bool door_is_used_up(const struct door *door);
/* One more link may go out; false: too many do. */
bool door_admit(struct door *door);
/* A link is over, or a look-up, also of a link that has ended: others may come.
 * door_looked_up() may free a door that door_free() has closed. */
void door_leave(struct door *door, bool admitted);
void door_looked_up(struct door *door);

#endif
