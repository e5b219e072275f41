/* speech.h - the dialects that the practice model speaks.
 *
 * Scripts, rules and counts know chat-completions only. A speech reads another
 * dialect's request as one of these, refuses what a real endpoint of it would
 * refuse, and says a reply in its own words. */
#ifndef PRACTICE_SPEECH_H
#define PRACTICE_SPEECH_H

#include "writer.h"

struct speech {
    const char *path;
    const char *key_header, *key_prefix;

    /* {messages, tools} as chat-completions have them: a new reference. */
    json_t *(*read)(const json_t *request);
    /* The sentence with which it is refused; NULL: it is good. */
    const char *(*refuse)(const json_t *request);

    void (*stream)(struct writer *writer, const json_t *request);
    void (*plain)(struct writer *writer, const json_t *request);
    /* What an error is in: takes and gives. */
    json_t *(*error)(json_t *error, unsigned status);
};

extern const struct speech speech_chat, speech_messages, speech_responses;

/* Which is spoken at that path; NULL: none. */
const struct speech *speech_at(const char *path);

/* Content that is a list of parts, as text. */
json_t *speech_text(const json_t *content);

#endif
