/* answer.c - an answer that must be JSON which fits the job's output_schema. */
#include "consumer/conversation/answer.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"
#include "schemas/json/output_schema.h"
#include "schemas/message/limits.h"

/* A text may have any number of brackets, and each costs a parse. */
enum { MOST_BEGINNINGS = 32 };

static size_t answer_bytes(const json_t *value)
{
    return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* ----------------------------------------------------------------- reading */

static bool is_good(const json_t *schema, const json_t *value, struct err *err)
{
    if (!output_schema_fits(schema, value, err))
        return false;
    return answer_bytes(value) <= MAX_ANSWER_BYTES ||
           err_set(err, ERR_REJECT, "bad_output", "it is larger than %d bytes",
                   MAX_ANSWER_BYTES);
}

/* The value that the text begins with; *len: how many bytes of the text to
 * skip. */
static json_t *parse_at(struct view text, size_t *len)
{
    json_error_t error;
    json_t *value = json_loadb(text.data, text.len,
                               JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error);
    *len = value != NULL ? (size_t)error.position : 1;
    return value;
}

/* A value inside a longer text: lists and objects only, as numbers and words of
 * the prose are JSON, too. first: the error of the first value. */
static json_t *find_value(const json_t *schema, struct view text,
                          struct err *first)
{
    struct err other, *why = first;
    size_t at = 0;
    for (int tries = 0; tries < MOST_BEGINNINGS; tries++) {
        size_t len;
        while (at < text.len && text.data[at] != '{' && text.data[at] != '[')
            at++;
        if (at >= text.len)
            return NULL;
        json_t *value =
            parse_at((struct view){ text.data + at, text.len - at }, &len);
        if (value && is_good(schema, value, why))
            return value;
        if (value)
            why = &other;
        json_decref(value);
        at += len;
    }
    return NULL;
}

json_t *answer_read(const json_t *schema, struct view text, struct err *err)
{
    text = view_trimmed(text);
    /* A whole text that is JSON is the answer, right or wrong. */
    json_t *whole = json_loadb(!text.data ? "" : text.data, text.len,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (whole && is_good(schema, whole, err))
        return whole;
    if (!whole)
        err_set(err, ERR_REJECT, "bad_output", "it is not JSON");
    json_decref(whole);
    return whole ? NULL : find_value(schema, text, err);
}

json_t *answer_value(const json_t *schema, json_t *value, struct err *err)
{
    struct err other;
    struct view text = { json_string_value(value), json_string_length(value) };
    if (is_good(schema, value, err))
        return json_incref(value);
    return json_is_string(value) ? answer_read(schema, text, &other) : NULL;
}

/* ------------------------------------------------------------------ telling */

void answer_rule(const json_t *schema, bool codeact, struct buf *out)
{
    CLEANUP(cleanup_free) char *text = json_dumps(schema, JSON_COMPACT);
    buf_add(out, codeact ? VIEW("\n\nThe answer, after FINAL ANSWER: or given "
                                "to final_answer(), must be JSON")
                         : VIEW("\n\nThe answer must be JSON alone"));
    buf_printf(out, " that fits this JSON Schema, without any other words:\n%s",
               text);
}

void answer_wrong(const struct err *why, struct buf *out)
{
    buf_printf(out,
               "[The answer is not JSON that fits the JSON Schema: %s. Answer "
               "again, with JSON that does and nothing else.]",
               why->text);
}
