/* verb_run.c - quern run: ask, follow, read the answer. */
#include "producer/cli/follow.h"
#include "schemas/message/buf.h"

/* "-" reads the question from standard input. */
int verb_run(struct app *app)
{
    CLEANUP(cleanup_free) char *text = NULL;
    struct err err = { 0 };
    const char *question = app->options.words[0];
    size_t size;

    if (question && view_is(VIEW("-"), question)) {
        text = read_text("-", MAX_TEXT_BYTES, &size, &err);
        if (!text)
            return app_fail_err(app, &err);
        question = text;
    }
    return follow_new(app, question, NULL);
}
