/* arena.c - the memory of decoded messages.
 *
 * It is a zone of msgpack-c, which puts its objects into the same one: both are
 * freed at once. */
#include <stdlib.h>
#include <string.h>

#include "schemas/message/field.h"

/* Bytes of a chunk: a usual event fits into one, and a client that holds ten
 * thousand of them wastes little. */
enum { ARENA_CHUNK = 1024 };

void *arena_alloc(struct arena *arena, size_t size)
{
    void *memory = NULL;

    if (!arena->zone)
        arena->zone = msgpack_zone_new(ARENA_CHUNK);
    if (arena->zone)
        memory = msgpack_zone_malloc(arena->zone, size);
    if (!memory)
        abort();
    return memset(memory, 0, size);
}

struct view arena_copy(struct arena *arena, struct view view)
{
    char *copy = arena_alloc(arena, view.len);

    if (view.len > 0)
        memcpy(copy, view.data, view.len);
    return (struct view){ copy, view.len };
}

void arena_finish(struct arena *arena)
{
    if (!arena || !arena->zone)
        return;
    msgpack_zone_free(arena->zone);
    arena->zone = NULL;
}
