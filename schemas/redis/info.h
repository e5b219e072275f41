/* info.h - judges by INFO whether a Redis server will keep jobs safe.
 *
 * Consumers judge when they start, and so does quern doctor; both use this
 * file, so they never disagree. With a fault a consumer does not serve. A
 * warning is only logged. */
#ifndef SCHEMAS_REDIS_INFO_H
#define SCHEMAS_REDIS_INFO_H

#include <stdbool.h>

#include "schemas/message/view.h"
#include "schemas/redis/command.h"

void info_ask(struct command *command);

/* The value in the line "name:value", a part of info; empty where there is no
 * such line. */
struct view info_value(struct view info, const char *name);
bool info_is(struct view info, const char *name, const char *value);

/* INFO_UNSEEN: INFO does not have it. Services leave out lines; that is no
 * fault. */
enum info_level { INFO_FINE, INFO_UNSEEN, INFO_WARNING, INFO_FAULT };

struct finding {
    enum info_level level;
    const char *check;  /* version, storage, eviction */
    const char *remedy; /* one a line; NULL: nothing is to be done */
    char text[200];
};
enum { INFO_CHECKS = 3 };
/* fsync: the setting appendfsync; NULL: not known. */
void info_judge(struct view info, const char *fsync,
                struct finding findings[INFO_CHECKS]);

#endif
