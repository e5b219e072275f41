/* ahead.c - what can be done for a reply's code while the reply still comes. */
#include "consumer/attempt/ahead.h"

#include <string.h>

#include "consumer/attempt/attempt.h"
#include "consumer/conversation/question.h"
#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

enum {
    MAX_TEXT = 64 << 10, /* what is longer is read when it is there */
    /* A block without an end is read again with each line more. */
    MAX_READ = 16 * MAX_TEXT,
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

/* Whatever the code is: when a person is asked first it may take days, and who
 * was asked for an answer runs nothing. */
static bool will_not_run(const struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    return *attempt->decided.last != '\0' ||
           question_of_code(&terms, &attempt->job, VIEW(""));
}

/* One that outlives jobs is waited for in its turn, and by who waits for
 * nothing else: somebody may have to be let past. */
static bool may_be_readied(const struct attempt *attempt)
{
    const struct session *session = &attempt->session;
    return !session->opened && session->state == SESSION_IDLE &&
           (attempt->job.session.len == 0 || session->claimed) &&
           !will_not_run(attempt);
}

static void make_ready(struct attempt *attempt)
{
    struct ahead *ahead = &attempt->ahead;
    ahead->coming = true;
    if (!may_be_readied(attempt))
        return;
    ahead->readying = true;
    struct wish wish = {
        .kind = WISH_READY,
        .past = conversation_past(&attempt->conversation),
        .files_there = attempt->conversation.files_there,
    };
    session_want(&attempt->session, &wish);
}

static void compile(struct attempt *attempt)
{
    struct ahead *ahead = &attempt->ahead;
    if (ahead->compiled || ahead->code.len == 0)
        return;
    ahead->compiled =
        session_compile(&attempt->session, buf_view(&ahead->code),
                        conversation_cells(&attempt->conversation) + 1);
}

/* Joined as codeact_read() joins them. */
static void take_block(struct ahead *ahead, struct view block)
{
    if (ahead->code.len > 0)
        buf_append(&ahead->code, "\n\n", 2);
    buf_add(&ahead->code, block);
    ahead->compiled = false;
}

static void find_blocks(struct attempt *attempt)
{
    CLEANUP(buf_finish) struct buf block = { .max = MAX_TEXT };
    struct ahead *ahead = &attempt->ahead;
    ahead->read += ahead->text.len - ahead->cursor.at;
    if (ahead->read > MAX_READ)
        return;
    while (codeact_next(&ahead->cursor, buf_view(&ahead->text), &block))
        take_block(ahead, buf_view(&block));
    compile(attempt);
}

void ahead_hear(struct attempt *attempt, struct view text)
{
    struct ahead *ahead = &attempt->ahead;
    if (attempt->job.mode != MODE_CODEACT)
        return;
    if (ahead->text.max == 0) {
        buf_init(&ahead->text, MAX_TEXT);
        buf_init(&ahead->code, MAX_TEXT);
    }
    if (!buf_add(&ahead->text, text))
        return;
    if (!ahead->coming && code_begins(buf_view(&ahead->text), text.len))
        make_ready(attempt);
    if (ahead->coming && memchr(text.data, '\n', text.len) != NULL)
        find_blocks(attempt);
}

void ahead_call(struct attempt *attempt, struct view tool)
{
    if (attempt->job.mode == MODE_TOOLS && !attempt->ahead.coming &&
        view_is(tool, TOOL_PYTHON))
        make_ready(attempt);
}

bool ahead_is_ready(struct attempt *attempt)
{
    bool ours = attempt->ahead.readying;
    attempt->ahead.readying = false;
    if (ours)
        compile(attempt);
    return ours;
}

void ahead_end(struct attempt *attempt)
{
    struct ahead *ahead = &attempt->ahead;
    if (ahead->readying)
        session_abandon(&attempt->session);
    buf_finish(&ahead->text);
    buf_finish(&ahead->code);
    *ahead = (struct ahead){ 0 };
}
