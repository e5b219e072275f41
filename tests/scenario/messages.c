/* messages.c - what messages of models in CodeAct mode say: for tests in
 * another language.
 *
 *   messages < frames
 *
 * A frame is "KIND BYTES\n" and so many bytes; for each, one line of JSON:
 *   read   codeact_read() of a text that its author stopped
 *   cut    the same of one that was cut off
 *   whole  python_is_whole() */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/codeact.h"
#include "consumer/conversation/python.h"
#include "schemas/message/text.h"

enum { MAX_BYTES = 64 << 20 };

static json_t *text_of(struct view text)
{
    CLEANUP(buf_finish) struct buf clean = { .max = text.len * 3 };

    text_add_clean(&clean, text);
    return json_stringn(clean.data != NULL ? clean.data : "", clean.len);
}

static json_t *read_message(struct view text, bool stopped)
{
    struct codeact_rules rules = { .stopped = stopped };
    struct codeact said;
    json_t *json;

    codeact_read(&said, text, &rules);
    json = json_pack(
        "{so so sb sb sb sI sI}", "code", text_of(buf_view(&said.code)),
        "answer", text_of(buf_view(&said.answer)), "final", said.final,
        "invented", said.invented, "unclosed", said.unclosed, "blocks",
        (json_int_t)said.blocks, "cut", (json_int_t)said.cut);
    codeact_finish(&said);
    return json;
}

static json_t *answer(const char *kind, struct view text)
{
    if (strcmp(kind, "read") == 0 || strcmp(kind, "cut") == 0)
        return read_message(text, strcmp(kind, "read") == 0);
    return json_boolean(python_is_whole(text));
}

int main(void)
{
    char kind[32];

    while (fgets(kind, sizeof(kind), stdin) != NULL) {
        char *blank = strchr(kind, ' ');
        size_t bytes = blank != NULL ? strtoul(blank, NULL, 10) : MAX_BYTES + 1;
        char *text = bytes <= MAX_BYTES ? malloc(bytes + 1) : NULL;
        json_t *json;

        if (text == NULL || fread(text, 1, bytes, stdin) != bytes)
            return 1;
        *blank = '\0';
        json = answer(kind, (struct view){ text, bytes });
        json_dumpf(json, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
        putchar('\n');
        json_decref(json);
        free(text);
    }
    return feof(stdin) ? 0 : 1;
}
