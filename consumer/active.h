/* active.h - may what a cell displayed act, where a page shows it?
 *
 * HTML has scripts, and so may an SVG image; both may load from elsewhere,
 * which tells others who looks at them. A client is told by a mark, and shows
 * what has it in a sandbox or not at all.
 *
 * The cell's code is hostile, so what is not known to be harmless is active. Of
 * SVG that is: UTF-8, no declarations or CDATA, elements and attributes that
 * draw, addresses within the image or of bitmaps inside it. */
#ifndef CONSUMER_ACTIVE_H
#define CONSUMER_ACTIVE_H

#include "schemas/message/view.h"

bool content_is_active(struct view mime, struct view bytes);

#endif
