/* profile_count.c - what the fleet has asked of its endpoints, counted. */
#include <string.h>

#include "consumer/queue/profile_look.h"

enum { TELL_MS = 1000 };

static const uint64_t MONTH_MS = 30ull * PROFILE_DAY_MS;

static struct tally *find_tally(struct profile *profile,
                                const struct endpoint_id *id)
{
    for (size_t i = 0; i < profile->tally_count; i++)
        if (strcmp(profile->tallies[i].id.text, id->text) == 0)
            return &profile->tallies[i];
    if (profile->tally_count == MAX_ENDPOINTS)
        return NULL; /* loaded anew again and again, while Redis is away */
    struct tally *tally = &profile->tallies[profile->tally_count++];
    *tally = (struct tally){ .id = *id };
    return tally;
}

void profile_count(struct profile *profile,
                   const struct model_endpoint *endpoint,
                   enum endpoint_count what)
{
    struct endpoint_id id = profile_id(endpoint);
    struct tally *tally = find_tally(profile, &id);
    if (tally != NULL)
        tally->counts[what]++;
    if (!alarm_is_set(profile->counting))
        alarm_set(profile->counting, TELL_MS);
}

static void tell_count(struct profile *profile, const struct tally *tally,
                       enum endpoint_count what)
{
    struct endpoint_field field =
        endpoint_field_make(&tally->id, endpoint_count_names[what]);
    struct command command;
    if (tally->counts[what] == 0)
        return;
    command_init(&command, "HINCRBY");
    command_add(&command, key_view(&profile->counts));
    command_add_text(&command, field.text);
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
        for (enum endpoint_count what = 0; what < ENDPOINT_COUNTS; what++)
            tell_count(profile, &profile->tallies[i], what);
    profile_end(profile, &profile->counts, MONTH_MS);
    profile->tally_count = 0;
}
