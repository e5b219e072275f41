/* active.h - whether what a cell displayed could run scripts in a page that
 * shows it.
 *
 * HTML has scripts, and so may an SVG image. Both may load things from
 * elsewhere, which tells others who looks at them. Clients are told by the mark
 * "active", and show such a display in a sandbox or not at all.
 *
 * The cell's code is hostile, so all that is not known to be harmless is
 * active. An SVG image is harmless when it is UTF-8, has no declarations or
 * CDATA, only elements and attributes that draw, and only addresses within the
 * image or of bitmaps in it. */
#ifndef CONSUMER_ACTIVE_H
#define CONSUMER_ACTIVE_H

#include "schemas/message/view.h"

/* mime: the type that the cell has given, which may be false. */
bool content_is_active(struct view mime, struct view bytes);

#endif
