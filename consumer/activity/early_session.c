/* early_session.c - makes the session ready while a reply still comes. */
#include "consumer/activity/early_session.h"

#include <string.h>

#include "consumer/activity/model_turn.h"
#include "consumer/conversation/approval.h"
#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

enum {
    MAX_TEXT = 64 << 10, /* of a reply: code is not looked for behind it */
    LONGEST_MARK =
        8, /* a mark may have begun in the piece before: "<execute" */
};

static bool early_code_holds(struct view text, const char *mark)
{
    return memmem(text.data, text.len, mark, strlen(mark));
}

/* Whether code begins in the last heard bytes of the text. A guess: when it is
 * wrong, a session was made for nothing. */
static bool code_begins(struct view text, size_t heard)
{
    size_t from = text.len - heard;
    from -= from < LONGEST_MARK ? from : LONGEST_MARK;
    struct view tail = { text.data + from, text.len - from };
    return early_code_holds(tail, "```") || early_code_holds(tail, "~~~") ||
           early_code_holds(tail, "<execute");
}

/* Whatever the code is: a person who must approve it may take days, and no code
 * of a last answer is run. */
static bool will_not_run(const struct model_turn *turn)
{
    struct terms terms = attempt_terms(turn->activity.attempt);
    return *turn->plan.last != '\0' ||
           approval_rule_of_code(&terms, &turn->activity.attempt->job,
                                 VIEW(""));
}

/* Not if the job would have to wait for its turn in a session with a name: a
 * job that waits for that must be able to give up its slot. */
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
