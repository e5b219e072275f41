/* image.h - whether bytes that call themselves an image may be passed on.
 *
 *   image/png, image/jpeg    begin as such and say their size
 *   image/gif, image/webp    that, and each frame of it lies within that size
 *   image/svg+xml            UTF-8, an svg element, no entities of its own
 *   application/pdf          begins as such
 *   image/ anything else     refused: nobody here can tell what it is
 *
 * What is looked at is what a decoder would take memory by. That an image is
 * whole is not: a broken one hurts nobody. */
#ifndef EXECUTOR_WARDEN_IMAGE_H
#define EXECUTOR_WARDEN_IMAGE_H

#include <stdint.h>

#include "schemas/message/view.h"

enum { MAX_FILM_PIXELS = 1 << 30 };

struct image_size {
    uint64_t width, height;
};

/* Of 1 to MAX_PIXELS pixels, those of all frames of an animation at most
 * MAX_FILM_PIXELS; *size: zero for what has none. Other types are not images
 * to us: true. */
bool image_is_sound(struct view mime, struct view bytes,
                    struct image_size *size);

#endif
