/* librechat_cells.h - what LibreChat asks to run, as cells of Python. */
#ifndef PRODUCER_GATEWAY_PLUGS_LIBRECHAT_CELLS_H
#define PRODUCER_GATEWAY_PLUGS_LIBRECHAT_CELLS_H

#include <jansson.h>

/* The last cell is the code, or starts it where it is bash; another one before
 * it, if there is one, moves files. body: was checked. moves: [[from, to]...],
 * paths in /mnt/data. A new reference. */
json_t *librechat_cells(const json_t *body, const json_t *moves);

#endif
