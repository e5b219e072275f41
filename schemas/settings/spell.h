/* spell.h - suggests a known word for a misspelt one. */
#ifndef SCHEMAS_SETTINGS_SPELL_H
#define SCHEMAS_SETTINGS_SPELL_H

#include "schemas/message/view.h"

/* How far a word is from a name: letters to be added, left out, replaced or
 * swapped. 0: the word is the name, or begins it with three letters at least.
 * 1 also: it is the name with another part behind it, lease-ms for lease.
 * SPELL_FAR: nobody means that name. */
enum { SPELL_FAR = 99 };
unsigned int spell_distance(const char *word, size_t len, const char *name);

/* The nearest of words, which end in NULL; NULL: all are far. */
const char *spell_nearest(const char *const *words, struct view word);

#endif
