/* brake.c - stops a model that goes round in circles. */
#include "consumer/conversation/brake.h"

#include <ctype.h>
#include <string.h>

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv */
static const uint64_t fnv_basis = 0xcbf29ce484222325;
static const uint64_t fnv_prime = 0x100000001b3;

static uint64_t hash_byte(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * fnv_prime;
}

/* ------------------------------------------------------------------ actions
 */

static struct view brake_next_line(struct view *rest)
{
    const char *end =
        rest->len > 0 ? memchr(rest->data, '\n', rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    struct view line = { rest->data, len };
    size_t used = end ? len + 1 : len;
    *rest = (struct view){ rest->data + used, rest->len - used };
    return line;
}

static bool brake_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static bool is_idle(struct view line)
{
    size_t from = 0;
    while (from < line.len && brake_is_blank(line.data[from]))
        from++;
    return from == line.len || line.data[from] == '#';
}

uint64_t brake_action(struct view tool, struct view what)
{
    uint64_t hash = fnv_basis;
    for (size_t i = 0; i < tool.len; i++)
        hash = hash_byte(hash, tool.data[i]);
    while (what.len > 0) {
        struct view line = brake_next_line(&what);
        if (is_idle(line))
            continue;
        while (line.len > 0 && brake_is_blank(line.data[line.len - 1]))
            line.len--;
        hash = hash_byte(hash, '\n');
        for (size_t i = 0; i < line.len; i++)
            hash = hash_byte(hash, line.data[i]);
    }
    return hash;
}

/* ----------------------------------------------------------------- outcomes
 */

/* How many bytes an address like "0x7f31.." has that stands there; 0: there is
 * none. Python shows them of objects, and they differ in each run. */
static size_t address_at(struct view text, size_t at)
{
    size_t end = at + 2;
    if (at + 3 > text.len || text.data[at] != '0' || text.data[at + 1] != 'x')
        return 0;
    while (end < text.len && isxdigit((unsigned char)text.data[end]))
        end++;
    return end - at;
}

static uint64_t hash_outcome(struct view text, bool failed)
{
    uint64_t hash = fnv_basis;
    for (size_t i = 0; i < text.len; i++) {
        size_t address = address_at(text, i);
        if (address > 2)
            i += address - 1;
        else if (!failed || !isdigit((unsigned char)text.data[i]))
            hash = hash_byte(hash, text.data[i]);
    }
    return hash;
}

struct call_digest brake_digest(uint64_t action, const struct record *result)
{
    bool ran = result->cell.code.len > 0;
    bool failed = ran ? result->cell.status != CELL_OK : result->failed;
    return (struct call_digest){
        .action = action,
        .outcome = hash_outcome(result->observation, failed),
        .failed = failed,
    };
}

/* ----------------------------------------------------------------- judging
 */

static size_t window_of(size_t count)
{
    return count > BRAKE_WINDOW ? count - BRAKE_WINDOW : 0;
}

static size_t count_same(const struct call_digest *digests, size_t count,
                         const struct call_digest *digest)
{
    size_t same = 0;
    for (size_t i = window_of(count); i < count; i++)
        same += !digests[i].refused && digests[i].action == digest->action &&
                digests[i].outcome == digest->outcome;
    return same;
}

static size_t allowed(const struct call_digest *digest, size_t most)
{
    return most > 1 && digest->failed ? most - 1 : most;
}

enum brake brake_before(const struct call_digest *digests, size_t count,
                        uint64_t action, size_t most)
{
    size_t refusals = 0;
    bool circles = false;
    for (size_t i = window_of(count); i < count; i++) {
        const struct call_digest *digest = &digests[i];
        refusals += digest->refused;
        circles |= !digest->refused && digest->action == action &&
                   count_same(digests, count, digest) >= allowed(digest, most);
    }
    if (most == 0)
        return BRAKE_NONE;
    if (refusals >= BRAKE_REFUSALS)
        return BRAKE_LAST;
    return circles ? BRAKE_FORBID : BRAKE_NONE;
}

bool brake_hints(const struct call_digest *digests, size_t count,
                 const struct call_digest *last, size_t most)
{
    size_t same = count_same(digests, count, last) + 1;
    return most > 1 && same + 1 >= allowed(last, most) && same > 1;
}
