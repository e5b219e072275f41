/* session.c - commands and replies of library/session.lua. */
#include "schemas/redis/session.h"

#include <assert.h>
#include <stdio.h>

#include "schemas/redis/step.h"

/* Puts tenant/name together in the first part of scratch[1]; add_blobs() has
 * the rest of it. Both must stay until the command has been sent. */
static void add_session(struct command *command, struct session_key session)
{
    char *text = command->scratch[1];
    struct encoded_label tenant = names_encode(session.tenant);
    struct encoded_label name = names_encode(session.name);
    int len = snprintf(text, sizeof(command->scratch[1]), "%s/%s", tenant.text,
                       name.text);

    assert(len > 0 && (size_t)len < sizeof(command->scratch[1]));
    command_add(command, (struct view){ text, (size_t)len });
}

void transition_session_claim(struct command *command,
                              const struct names *names, struct job_lease lease,
                              struct session_key session, uint64_t ttl_ms)
{
    step_begin_held(command, "quern_v1_session_claim", names, lease);
    add_session(command, session);
    command_add_uint(command, ttl_ms);
}

bool transition_session_claimed(const redisReply *reply,
                                struct session_claim_reply *claim,
                                struct err *err)
{
    redisReply **part = step_expect(reply, "session_claim", 2, err);

    if (!part)
        return false;
    *claim = (struct session_claim_reply){ .mine = step_uint(part[0]) };
    if (claim->mine)
        claim->record = step_text(part[1]);
    else
        claim->other = step_text(part[1]);
    claim->runs =
        reply->elements > 2 && view_is(step_text(part[2]), "in_progress");
    return true;
}

/* One argument with the blobs of variables and history, as words: none of them,
 * one, or both. */
static void add_blobs(struct command *command, const struct session_save *save)
{
    enum { SESSION_LEN = 800 }; /* more than two encoded labels and a slash */
    char *text = command->scratch[1] + SESSION_LEN;
    size_t room = sizeof(command->scratch[1]) - SESSION_LEN;
    bool both = save->picture.len > 0 && save->history.len > 0;
    int len = snprintf(text, room, "%.*s%s%.*s", VIEW_ARG(save->picture),
                       both ? " " : "", VIEW_ARG(save->history));

    assert(len >= 0 && (size_t)len < room);
    command_add(command, (struct view){ text, (size_t)len });
}

void transition_session_save(struct command *command, const struct names *names,
                             const struct session_save *save)
{
    const struct session_file *files = save->files.items;

    step_begin_held(command, "quern_v1_session_save", names, save->lease);
    add_session(command, save->session);
    command_add_uint(command, save->generation);
    command_add_text(command, save->closed ? "0" : "1");
    command_add_uint(command, save->ttl_ms);
    command_add_uint(command, save->kept_ms);
    command_add(command, save->record);
    add_blobs(command, save);
    for (size_t i = 0; i < save->files.count; i++)
        if (files[i].blob.len > 0)
            command_add(command, files[i].blob);
}
