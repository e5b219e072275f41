/* numbers.c - the table of what the warden counts. */
#include "executor/warden/numbers.h"

static const double of_cells[] = { 0.005, 0.02, 0.1, 0.5, 1,   2.5, 5,
                                   10,    30,   60,  120, 300, 0 };

static const char *const states[] = { "busy", "idle", "ready", NULL };
static const char *const sources[] = { "ready", "cold", NULL };
static const char *const outcomes[] = { "ok",          "error",  "exit",
                                        "timeout",     "memory", "crashed",
                                        "interrupted", NULL };
static const char *const reasons[] = { "timeout",     "memory",  "crashed",
                                       "interrupted", "between", NULL };
static const char *const walls[] = { "box",         "seccomp",   "landlock",
                                     "watchdog",    "memory",    "processes",
                                     "cpu",         "own_users", "own_files",
                                     "own_devices", NULL };

const struct metric warden_numbers[WARDEN_NUMBERS] = {
    [NUMBER_SESSIONS] = { "sessions",
                          METRIC_GAUGE,
                          "Sessions of this executor: that do something, that "
                          "wait for a request, and interpreters that stand "
                          "ready for new ones.",
                          { { "state", states } },
                          .is_whole = true },
    [NUMBER_SESSION_START] = { "session_start_seconds",
                               METRIC_HISTOGRAM,
                               "From the request for a new session until it "
                               "was open; cold: no interpreter stood ready.",
                               { { "source", sources } },
                               .buckets = of_cells },
    [NUMBER_CELLS] = { "cells_total",
                       METRIC_COUNTER,
                       "Cells that have ended; a cell that runs again after an "
                       "installation is one.",
                       { { "outcome", outcomes } },
                       .is_whole = true },
    [NUMBER_CELL_TIME] = { "cell_seconds",
                           METRIC_HISTOGRAM,
                           "How long cells ran.",
                           { { NULL, NULL } },
                           .buckets = of_cells },
    [NUMBER_ROLLBACKS] = { "rollbacks_total",
                           METRIC_COUNTER,
                           "Sessions that went back to their last snapshot, by "
                           "what had become of the cell; between: none ran.",
                           { { "reason", reasons } },
                           .is_whole = true },
    [NUMBER_WALLS] = { "wall_up",
                       METRIC_GAUGE,
                       "1: boxes have that wall; 0: not on this host, or not "
                       "by these settings. memory, processes and cpu are "
                       "those of cgroups; the watchdog does without.",
                       { { "wall", walls } },
                       .is_whole = true },
};
