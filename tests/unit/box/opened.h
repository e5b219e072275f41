/* opened.h - boxes for tests, as the warden has them made. */
#ifndef TESTS_UNIT_BOX_OPENED_H
#define TESTS_UNIT_BOX_OPENED_H

#include <stdbool.h>

#include "executor/box/box.h"

enum { DISK_BYTES = 4 << 20 };

struct box {
    int channel;
    int fds[BOX_FDS];
    size_t count;
    pid_t init;
};

struct box box_open(void);
void box_close(struct box *box);

/* The next word of init, and the descriptors that came with it. */
struct box_word box_receive(int channel, int *fds, size_t *count);
/* The others but those kept are ended: init's word of it. keep: as the box sees
 * it; 0: nobody. */
struct box_word box_sweep(const struct box *box, pid_t keep);

/* As the warden does; root would be exempt from the limit on processes. */
bool become_nobody(void);

#endif
