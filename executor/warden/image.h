/* image.h - whether bytes that call themselves an image may be passed on. */
#ifndef EXECUTOR_WARDEN_IMAGE_H
#define EXECUTOR_WARDEN_IMAGE_H

#include <stdint.h>

#include "schemas/message/view.h"

struct image_size {
    uint64_t width, height;
};

/* The bytes begin as mime (image/png, image/jpeg) does, and say a size of 1 to
 * MAX_PIXELS pixels. Other types are not images to us: true, size zero. */
bool image_is_sound(struct view mime, struct view bytes,
                    struct image_size *size);

#endif
