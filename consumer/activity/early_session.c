/* early_session.c - the session is made ready while a reply still comes. */
#include "consumer/activity/early_session.h"

#include <string.h>

#include "consumer/activity/model_turn.h"
#include "consumer/conversation/approval_rule.h"
#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

enum {
    MAX_TEXT = 64 << 10, /* in what is longer nobody looks for code */
    LONGEST_MARK = 8,
};

static bool holds(struct view text, const char *mark)
{
    return memmem(text.data, text.len, mark, strlen(mark));
}

/* It costs little to be wrong. */
static bool code_begins(struct view text, size_t heard)
{
    size_t from = text.len - heard;
    from -= from < LONGEST_MARK ? from : LONGEST_MARK;
    struct view tail = { text.data + from, text.len - from };
    return holds(tail, "```") || holds(tail, "~~~") || holds(tail, "<execute");
}

/* Whatever the code is: a person who is asked first may take days, and a model
 * that was asked for its last answer runs nothing. */
static bool will_not_run(const struct model_turn *turn)
{
    struct terms terms = attempt_terms(turn->activity.attempt);
    return *turn->plan.last != '\0' ||
           approval_rule_of_code(&terms, &turn->activity.attempt->job,
                                 VIEW(""));
}

/* A session with a name is opened ahead only when the job has claimed it: a job
 * that waits for its turn must be able to give up its slot. */
static bool may_be_readied(const struct model_turn *turn)
{
    return session_can_open(turn->activity.attempt->session) &&
           !will_not_run(turn);
}

static void make_ready(struct model_turn *turn)
{
    struct early_session *early_session = &turn->early_session;
    early_session->coming = true;
    if (!may_be_readied(turn))
        return;
    early_session->readying = true;
    struct session_request request = {
        .verb = SESSION_PREPARE,
        .earlier =
            conversation_earlier_cells(&turn->activity.attempt->conversation),
        .files_there = turn->activity.attempt->conversation.files_there,
    };
    session_request(turn->activity.attempt->session, &request);
}

void early_session_hear(struct model_turn *turn, struct view text)
{
    struct early_session *early_session = &turn->early_session;
    if (turn->activity.attempt->job.mode != MODE_CODEACT ||
        early_session->coming)
        return;
    if (early_session->text.max == 0)
        buf_init(&early_session->text, MAX_TEXT);
    if (buf_add(&early_session->text, text) &&
        code_begins(buf_view(&early_session->text), text.len))
        make_ready(turn);
}

void early_session_call(struct model_turn *turn, struct view tool)
{
    if (turn->activity.attempt->job.mode == MODE_TOOLS &&
        !turn->early_session.coming && view_is(tool, TOOL_PYTHON))
        make_ready(turn);
}

void early_session_end(struct model_turn *turn)
{
    struct early_session *early_session = &turn->early_session;
    if (early_session->readying)
        session_abandon(turn->activity.attempt->session);
    buf_finish(&early_session->text);
    *early_session = (struct early_session){ 0 };
}
