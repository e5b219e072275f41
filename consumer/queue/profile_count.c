/* profile_count.c - what the fleet has asked of its endpoints, counted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* "https://user@host:8443/v1" as "host:8443". */
static struct view host_of(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *begin = scheme == NULL ? url : scheme + 3;
    size_t len = strcspn(begin, "/?#");
    const char *at = memrchr(begin, '@', len);
    if (at != NULL) {
        len -= (size_t)(at + 1 - begin);
        begin = at + 1;
    }
    return (struct view){ begin, len };
}

static void note(struct tally *tally, enum endpoint_note what,
                 struct view value)
{
    struct view head = view_head(value, sizeof(tally->notes[0]) - 1);
    snprintf(tally->notes[what], sizeof(tally->notes[0]), "%.*s",
             VIEW_ARG(head));
}

/* By Redis's clock; before that is known by this host's. */
static void note_time(const struct profile *profile, struct tally *tally,
                      enum endpoint_note what)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (profile->knows_clock)
        ms = (int64_t)profile_now_ms(profile) + profile->ahead_ms;
    snprintf(tally->notes[what], sizeof(tally->notes[0]), "%" PRId64, ms);
}

void profile_ended(struct profile *profile,
                   const struct model_endpoint *endpoint, const struct err *why)
{
    struct endpoint_id id = profile_id(endpoint);
    struct tally *tally = find_tally(profile, &id);
    if (tally == NULL)
        return;
    note(tally, NOTE_HOST, host_of(endpoint->url));
    note(tally, NOTE_MODEL, view_of(endpoint->model));
    if (why == NULL) {
        note_time(profile, tally, NOTE_ANSWERED_AT);
    } else {
        tally->counts[COUNT_FAILURES]++;
        note_time(profile, tally, NOTE_FAILED_AT);
        note(tally, NOTE_ERROR_CODE, view_of(why->code));
        note(tally, NOTE_ERROR, view_of(why->text));
    }
    if (!alarm_is_set(profile->counting))
        alarm_set(profile->counting, TELL_MS);
}

static void tell_notes(struct profile *profile, const struct tally *tally)
{
    struct endpoint_field
        fields[ENDPOINT_NOTES]; /* which the command borrows */
    struct command command;
    size_t told = 0;
    command_init(&command, "HSET");
    command_add(&command, key_view(&profile->counts));
    for (enum endpoint_note what = 0; what < ENDPOINT_NOTES; what++) {
        fields[what] =
            endpoint_field_make(&tally->id, endpoint_note_names[what]);
        if (tally->notes[what][0] == '\0')
            continue;
        command_add_text(&command, fields[what].text);
        command_add_text(&command, tally->notes[what]);
        told++;
    }
    if (told > 0)
        link_send(profile->link, &command, PROFILE_ANSWER_MS, profile_told,
                  profile);
    command_finish(&command);
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
    for (size_t i = 0; i < profile->tally_count; i++)
        tell_notes(profile, &profile->tallies[i]);
    profile_end(profile, &profile->counts, MONTH_MS);
    profile->tally_count = 0;
}
