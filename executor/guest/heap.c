/* heap.c - the zygote's memory, laid out so that copying it is cheap. */
#include "executor/guest/heap.h"

#include <Python.h>

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1 */
#endif

enum {
    HUGE_BYTES = 2 << 20,
    ARENA_BYTES = 1 << 20,     /* Python's, of which objects are made */
    LOADING_BYTES = 256 << 20, /* address space; what is not used goes back */
    ALIGNMENT = 16,
    SMALL_BYTES = 512, /* up to here objects are put into arenas */
    LARGEST_HOLE = 64 << 10,
    /* Where glibc itself ends up after large blocks have come and gone. */
    LARGE_BYTES = 32 << 20,
    KEPT_BYTES = 2 * LARGE_BYTES,
};

/* An arena that is free again. */
struct gap {
    struct gap *next;
};

static struct {
    char *start, *next, *end; /* of where arenas are put while loading */
    struct gap *gaps;
    char *program_break; /* where malloc's memory begins */
} heap;

static bool heap_is_ours(const void *arena)
{
    return heap.start && (const char *)arena >= heap.start &&
           (const char *)arena < heap.end;
}

static void *map(size_t bytes)
{
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

/* Python asks in other sizes for the stacks of its frames: these are left to
 * mmap. */
static void *take_arena(void *context, size_t bytes)
{
    (void)context;
    if (bytes == ARENA_BYTES && heap.gaps) {
        struct gap *gap = heap.gaps;
        heap.gaps = gap->next;
        return gap;
    }
    if (bytes != ARENA_BYTES || heap.end - heap.next < ARENA_BYTES)
        return map(bytes);
    char *arena = heap.next;
    heap.next += bytes;
    return arena;
}

static void give_arena(void *context, void *arena, size_t bytes)
{
    (void)context;
    if (!heap_is_ours(arena)) {
        munmap(arena, bytes);
        return;
    }
    madvise(arena, bytes, MADV_DONTNEED);
    struct gap *gap = arena;
    gap->next = heap.gaps;
    heap.gaps = gap;
}

static char *round_up(char *address)
{
    return address + (-(uintptr_t)address & (HUGE_BYTES - 1));
}

static char *round_down(char *address)
{
    return address - ((uintptr_t)address & (HUGE_BYTES - 1));
}

void heap_begin(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    heap.program_break = sbrk(0);
    heap.start = map(LOADING_BYTES);
    if (!heap.start)
        return;
    heap.end = heap.start + LOADING_BYTES;
    heap.next = round_up(heap.start);
    PyObject_SetArenaAllocator(
        &(PyObjectArenaAllocator){ NULL, take_arena, give_arena });
}

/* A session that put its objects into holes between ours would write all over
 * the place, and copy a page for each. So the holes are filled, for good, and
 * what it makes lies side by side, behind everything. */
static void fill_holes(void *(*take)(size_t bytes), void (*give)(void *memory),
                       size_t largest, const char *end)
{
    size_t bytes = largest;
    while (bytes >= ALIGNMENT) {
        char *memory = take(bytes);
        if (memory && memory < end)
            continue; /* as many as there are of that size */
        give(memory);
        bytes = bytes > SMALL_BYTES ? bytes / 2 : bytes - ALIGNMENT;
    }
}

static void collapse(char *start, char *end)
{
    start = round_up(start);
    end = round_down(end);
    if (start < end)
        madvise(start, (size_t)(end - start), MADV_COLLAPSE);
}

static char *find_top(void)
{
    return (char *)sbrk(0) - mallinfo2().keepcost;
}

void heap_fill(void)
{
    heap.gaps = NULL;
    fill_holes(PyObject_Malloc, PyObject_Free, SMALL_BYTES, heap.next);
    fill_holes(malloc, free, LARGEST_HOLE, find_top());
}

void heap_settle(void)
{
    char *edge = heap.next, *top = find_top();
    heap_fill();
    collapse(heap.start, edge);
    collapse(heap.program_break, top);
    if (heap.start) {
        char *end = round_up(heap.next);
        munmap(end, (size_t)(heap.end - end));
        heap.end = end;
    }
}
