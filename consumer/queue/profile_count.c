/* profile_count.c - what the fleet has asked of its endpoints, counted. */
#include <string.h>

#include "consumer/queue/profile_look.h"

enum { TELL_MS = 1000 };

static const uint64_t MONTH_MS = 30ull * PROFILE_DAY_MS;

static struct tally *find_tally(struct profile *profile, const char *id)
{
    for (size_t i = 0; i < profile->tally_count; i++)
        if (strcmp(profile->tallies[i].id, id) == 0)
            return &profile->tallies[i];
    if (profile->tally_count == MAX_ENDPOINTS)
        return NULL; /* loaded anew again and again, while Redis is away */
    struct tally *tally = &profile->tallies[profile->tally_count++];
    *tally = (struct tally){ 0 };
    memcpy(tally->id, id, strlen(id) + 1);
    return tally;
}

void profile_count(struct profile *profile,
                   const struct model_endpoint *endpoint,
                   enum profile_count what)
{
    char id[PROFILE_ID_BYTES + 1];
    profile_id(endpoint, id);
    struct tally *tally = find_tally(profile, id);
    if (tally != NULL)
        tally->counts[what]++;
    if (!alarm_is_set(profile->counting))
        alarm_set(profile->counting, TELL_MS);
}

static void tell_count(struct profile *profile, const struct tally *tally,
                       enum profile_count what)
{
    static const char *const names[] = { "calls", "paid_twice", "recovered" };
    char field[PROFILE_FIELD_BYTES + 1];
    struct command command;
    if (tally->counts[what] == 0)
        return;
    snprintf(field, sizeof(field), "%s %s", tally->id, names[what]);
    command_init(&command, "HINCRBY");
    command_add(&command, key_view(&profile->counts));
    command_add_text(&command, field);
    command_add_uint(&command, tally->counts[what]);
    link_send(profile->link, &command, PROFILE_ANSWER_MS, profile_told,
              profile);
    command_finish(&command);
}

/* What may have arrived is not told again: rather too few than too many. */
void profile_tell_counts(void *owner)
{
    struct profile *profile = owner;
    if (!link_is_ready(profile->link)) {
        alarm_set(profile->counting, TELL_MS);
        return;
    }
    profile_begin(profile);
    for (size_t i = 0; i < profile->tally_count; i++)
        for (enum profile_count what = 0; what < PROFILE_COUNTS; what++)
            tell_count(profile, &profile->tallies[i], what);
    profile_end(profile, &profile->counts, MONTH_MS);
    profile->tally_count = 0;
}
