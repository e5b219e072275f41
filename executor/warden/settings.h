/* settings.h - what the operator may set in quern-executor.
 *
 * The table in settings.c says how each is called, what it may be and what it
 * does; schemas/settings/setting.h reads flags, environment and file by it. */
#ifndef EXECUTOR_WARDEN_SETTINGS_H
#define EXECUTOR_WARDEN_SETTINGS_H

#include <sys/types.h>

#include "schemas/message/frame.h"
#include "schemas/settings/setting.h"

enum box_level {
    LEVEL_BOXED,   /* namespaces and seccomp: never less */
    LEVEL_WATCHED, /* and Landlock, and the memory of a box is limited */
    LEVEL_FULL,    /* and the kernel limits it, and processes: cgroups */
    LEVELS,
};
extern const char *const level_names[]; /* and NULL */

/* What surrounds the executor and is a wall by itself, for which boxes may go
 * without Landlock and cgroup namespaces, as its kernel has neither. */
enum outer_wall { OUTER_NONE, OUTER_GVISOR };

/* What Python has loaded before a session begins: the scientific modules, or
 * none. */
enum profile { PROFILE_SCIENCE, PROFILE_BARE, PROFILES };
extern const char *const profile_names[]; /* and NULL */
/* False: there is none of that name. */
bool profile_read(struct view name, enum profile *profile);

/* Of user ids, both included; last 0: none is named. */
struct uid_range {
    uid_t first, last;
};
enum { MAX_BOX_UID = 2147483647 }; /* some programs read more as negative */

/* Strings are owned. Numbers are as the table bounds them. */
struct executor_settings {
    char *socket_path;
    char *user;           /* NULL: quern, or a number without a name */
    char *group;          /* of the socket; NULL: the user's */
    unsigned int mode;    /* of the socket */
    enum profile profile; /* of a session that does not say */
    char *box_path;       /* quern-box, quern-guest */
    char *guest_path;
    char *proxy_path; /* quern-proxy; NULL without hosts */
    char *hosts;      /* that code may reach, as proxy/hosts.h; NULL: none */
    struct session_limits limits; /* default, and most, of a session */
    int log_level;                /* enum log_severity */
    uint64_t sessions;            /* at once; main.c may lower it */
    uint64_t snapshot_bytes;      /* of the largest that is kept; 0: none */
    char *packages;               /* index, a folder of wheels; NULL: none */
    char *packages_allow;         /* names, or a file of them, or "*" */
    char *packages_store;         /* a folder; NULL: chosen */
    uint64_t packages_bytes;      /* of a session, unpacked */
    uint64_t traffic_bytes;       /* of a session over the proxy, in all */
    uint64_t cell_ms;             /* default, and most */
    uint64_t tool_ms;  /* for so long a cell's clock stands at most, in all */
    uint64_t idle_ms;  /* a session that nobody asks for so long ends */
    uint64_t ready;    /* interpreters that wait for a session, a profile */
    uint64_t renew_ms; /* a zygote is replaced after that time, */
    uint64_t renew_forks; /* ... or so many forks */
    enum box_level level; /* the least that is accepted */
    enum outer_wall outer;
    struct uid_range uids; /* of boxes, a user id each */
    bool own_uids;         /* ... wherever they can be had */
    bool cgroups;          /* limit boxes by them, where it can be done */
    bool insecure; /* no boxes: for development where there can be none */
    bool check;    /* test the walls, print what there is, end */
};

extern const struct setting_table settings_table;

/* Reads the command line, the environment and the file that --config names.
 * False: *status is what the process ends with. */
bool settings_read(struct executor_settings *settings, char *const *argv,
                   int *status);
/* HUP: reads anew what may change while it runs, and logs what has. */
void settings_reload(struct executor_settings *settings, char *const *argv);
void settings_finish(struct executor_settings *settings);

#endif
