/* heap.h - the zygote's memory, laid out so that copying it is cheap.
 *
 * A fork copies the tables of all pages, so what it costs grows with their
 * number: 130 MiB of scientific stack are 33,000 small pages, or 65 huge ones.
 * Python's objects are put side by side and, with the rest of the heap, moved
 * into huge pages once everything is loaded. */
#ifndef EXECUTOR_GUEST_HEAP_H
#define EXECUTOR_GUEST_HEAP_H

/* Before Python starts. */
void heap_begin(void);

/* Call it when everything but our own files is loaded: what each cell uses of
 * them then lies side by side, not in holes that others left. */
void heap_fill(void);

/* Call it when everything is loaded. Where the kernel has no MADV_COLLAPSE
 * (before 6.1), forks are slower, and that is all. */
void heap_settle(void);

#endif
