/* image.h - whether bytes that call themselves an image may be passed on.
 *
 *   image/png, image/jpeg    begin as such and say their size
 *   image/gif, image/webp    that, and each frame of it lies within that size
 *   image/svg+xml            UTF-8, an svg element, no entities of its own
 *   application/pdf          begins as such
 *   image/ anything else     refused: nobody here can tell what it is
 *
 * The images come from hostile code, and browsers and models decode them. So
 * this checks what decides how much memory a decoder takes: the type, and the
 * number of pixels. It does not check whether an image is whole, because a
 * broken image harms nobody. */
#ifndef EXECUTOR_WARDEN_IMAGE_H
#define EXECUTOR_WARDEN_IMAGE_H

#include <stdint.h>

#include "schemas/message/view.h"

enum { MAX_FILM_PIXELS = 1 << 30 }; /* of all frames of an animation */

struct image_size {
    uint64_t width, height;
};

/* True: it is what mime says, of 1 to MAX_PIXELS pixels, and all frames of an
 * animation together of at most MAX_FILM_PIXELS; or mime is none of the above,
 * and no image to us. *size: zero for what has no size. */
bool image_is_sound(struct view mime, struct view bytes,
                    struct image_size *size);

#endif
