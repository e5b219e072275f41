/* ahead.c - the session is made ready while a reply still comes. */
#include "consumer/step/ahead.h"

#include <string.h>

#include "consumer/conversation/question.h"
#include "consumer/conversation/tools.h"
#include "consumer/step/model_turn.h"
#include "schemas/message/limits.h"

enum {
    MAX_TEXT = 64 << 10, /* in what is longer nobody looks for code */
    LONGEST_MARK = 8,
};

static bool holds(struct view text, const char *mark)
{
    return memmem(text.data, text.len, mark, strlen(mark)) != NULL;
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
    struct terms terms = attempt_terms(turn->step.attempt);
    return *turn->decided.last != '\0' ||
           question_of_code(&terms, &turn->step.attempt->job, VIEW(""));
}

/* A session with a name is opened ahead only when the job has claimed it: a job
 * that waits for its turn must be able to give up its slot. */
static bool may_be_readied(const struct model_turn *turn)
{
    return session_can_open(turn->step.attempt->session) && !will_not_run(turn);
}

static void make_ready(struct model_turn *turn)
{
    struct ahead *ahead = &turn->ahead;
    ahead->coming = true;
    if (!may_be_readied(turn))
        return;
    ahead->readying = true;
    struct session_request request = {
        .verb = SESSION_PREPARE,
        .earlier = conversation_past(&turn->step.attempt->conversation),
        .files_there = turn->step.attempt->conversation.files_there,
    };
    session_request(turn->step.attempt->session, &request);
}

void ahead_hear(struct model_turn *turn, struct view text)
{
    struct ahead *ahead = &turn->ahead;
    if (turn->step.attempt->job.mode != MODE_CODEACT || ahead->coming)
        return;
    if (ahead->text.max == 0)
        buf_init(&ahead->text, MAX_TEXT);
    if (buf_add(&ahead->text, text) &&
        code_begins(buf_view(&ahead->text), text.len))
        make_ready(turn);
}

void ahead_call(struct model_turn *turn, struct view tool)
{
    if (turn->step.attempt->job.mode == MODE_TOOLS && !turn->ahead.coming &&
        view_is(tool, TOOL_PYTHON))
        make_ready(turn);
}

void ahead_end(struct model_turn *turn)
{
    struct ahead *ahead = &turn->ahead;
    if (ahead->readying)
        session_abandon(turn->step.attempt->session);
    buf_finish(&ahead->text);
    *ahead = (struct ahead){ 0 };
}
