/* spell.c - what somebody may have meant by a word that is none of ours. */
#include "schemas/settings/spell.h"

#include <string.h>

enum { MOST_LETTERS = 24, ENOUGH_LETTERS = 3 };

static unsigned int spell_least(unsigned int a, unsigned int b)
{
    return a < b ? a : b;
}

/* One row of the table of distances between beginnings, out of the two before.
 */
static void next_row(unsigned int rows[3][MOST_LETTERS + 1], const char *word,
                     size_t at, const char *name, size_t len)
{
    unsigned int *row = rows[2];
    const unsigned int *above = rows[1];

    row[0] = (unsigned int)at + 1;
    for (size_t i = 0; i < len; i++) {
        row[i + 1] = spell_least(above[i] + (word[at] != name[i]),
                                 spell_least(above[i + 1], row[i]) + 1);
        if (at > 0 && i > 0 && word[at] == name[i - 1] &&
            word[at - 1] == name[i])
            row[i + 1] = spell_least(row[i + 1], rows[0][i - 1] + 1);
    }
}

static bool is_joint(char byte)
{
    return byte == '-' || byte == '_';
}

unsigned int spell_distance(const char *word, size_t len, const char *name)
{
    unsigned int rows[3][MOST_LETTERS + 1] = { { 0 } };
    size_t name_len = strlen(name);
    unsigned int distance;

    if (len > MOST_LETTERS || name_len > MOST_LETTERS)
        return SPELL_FAR;
    if (len >= ENOUGH_LETTERS && strncmp(word, name, len) == 0)
        return 0;
    if (name_len >= ENOUGH_LETTERS && len > name_len &&
        memcmp(word, name, name_len) == 0 && is_joint(word[name_len]))
        return 1;
    for (size_t i = 0; i <= name_len; i++)
        rows[1][i] = (unsigned int)i;
    for (size_t at = 0; at < len; at++) {
        next_row(rows, word, at, name, name_len);
        memcpy(rows[0], rows[1], sizeof(rows[0]));
        memcpy(rows[1], rows[2], sizeof(rows[1]));
    }
    distance = rows[1][name_len];
    return distance <= (name_len < 5 ? 1 : 2) ? distance : SPELL_FAR;
}

const char *spell_nearest(const char *const *words, struct view word)
{
    const char *nearest = NULL;
    unsigned int least = SPELL_FAR;

    for (; *words; words++) {
        unsigned int distance = spell_distance(word.data, word.len, *words);

        if (distance < least) {
            least = distance;
            nearest = *words;
        }
    }
    return nearest;
}
