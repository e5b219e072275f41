/* spell.h - what somebody may have meant by a word that is none of ours. */
#ifndef PRODUCER_CLI_SPELL_H
#define PRODUCER_CLI_SPELL_H

#include <stddef.h>

/* How far a word is from a name: letters to be added, left out, replaced or
 * swapped. 0: the word is the name, or begins it with three letters at least.
 * SPELL_FAR: nobody means that name. */
enum { SPELL_FAR = 99 };
unsigned int spell_distance(const char *word, size_t len, const char *name);

#endif
