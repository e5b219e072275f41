/* test_window.c - what is left out of a long conversation, and what never is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/window.h"

static const struct window_summary none;

enum { TEXT_BYTES = 400, TEXT_TOKENS = 100 + 20 };

/* s: system; u: user; a: an answer; c: a call; t: its result; o: an observation
 * of code that is in a text. Each of about TEXT_TOKENS. */
static json_t *messages_of(const char *roles)
{
    static const struct {
        char letter;
        const char *role, *head;
    } kinds[] = {
        { 's', "system", "" },    { 'u', "user", "" },
        { 'a', "assistant", "" }, { 'c', "assistant", "" },
        { 't', "tool", "" },      { 'o', "user", "Observation:\n" },
    };
    json_t *messages = json_array();
    char text[TEXT_BYTES + 1];
    memset(text, 'x', TEXT_BYTES);
    text[TEXT_BYTES] = '\0';
    for (; *roles != '\0'; roles++)
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
            if (kinds[i].letter == *roles) {
                json_t *message =
                    json_pack("{s:s, s:o}", "role", kinds[i].role, "content",
                              json_sprintf("%s%s", kinds[i].head, text));
                if (*roles == 'c')
                    json_object_set_new(message, "tool_calls",
                                        json_pack("[{s:s}]", "id", "c1"));
                json_array_append_new(messages, message);
            }
    return messages;
}

static void test_cuts(void **state)
{
    (void)state;
    static const struct {
        const char *messages;
        size_t said, from, messages_kept; /* that have room */
        size_t cut;
    } rows[] = {
        { "su", 0, 0, 9, 2 },
        { "suctctct", 0, 0, 9, 2 }, /* all fit */
        { "suctctct", 0, 0, 5, 4 },
        { "suctctct", 0, 0, 4, 4 },
        { "suctctct", 0, 0, 3, 6 },
        { "suctctct", 0, 0, 2, 6 },
        { "suctctct", 0, 0, 0, 6 }, /* the last one stays */
        { "suctctct", 0, 6, 9, 6 }, /* what has gone does not come back */
        { "sucttttctct", 0, 0, 6, 7 },
        { "suaoaoao", 0, 0, 3, 6 },
        { "uauauau", 0, 0, 4, 3 }, /* a chat: to a user's message */
        { "uauauau", 0, 0, 1, 5 },
        { "ctct", 0, 0, 2, 2 },
        { "", 0, 0, 0, 0 },
        /* In the session before; the third is the task. */
        { "suauauct", 4, 0, 9, 1 },
        { "suauauct", 4, 0, 4, 3 }, /* a question goes with its answer */
        { "suauauct", 4, 0, 3, 6 },
        { "suauauctct", 4, 0, 2, 8 },
        { "suauau", 4, 0, 0, 6 },
        { "suauauct", 4, 3, 9, 3 },
        /* Places of another conversation than this one. */
        { "suauauct", 4, 2, 9, 3 },
        { "suauauct", 4, 4, 0, 6 },
        { "suctct", 0, 43, 9, 4 },
        { "su", 0, 43, 9, 2 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *messages = messages_of(rows[i].messages);
        print_message("%s, room for %zu\n", rows[i].messages,
                      rows[i].messages_kept);
        struct window window = window_of(messages, rows[i].said);
        assert_int_equal(window_cut(&window, rows[i].from,
                                    rows[i].messages_kept * TEXT_TOKENS),
                         rows[i].cut);
        json_decref(messages);
    }
}

static bool is_role(const json_t *messages, size_t at, const char *role)
{
    const char *is = json_string_value(
        json_object_get(json_array_get(messages, at), "role"));
    return is != NULL && strcmp(is, role) == 0;
}

/* Whatever is cut: no result without its call, no call without its result. */
static void test_no_orphans(void **state)
{
    (void)state;
    static const char letters[] = "uactto";
    srand(7);
    for (int round = 0; round < 500; round++) {
        char roles[32] = "su";
        size_t count = 2 + (size_t)rand() % 28;
        for (size_t i = 2; i < count; i++) {
            char last = roles[i - 1], next = letters[rand() % 6];
            roles[i] = last == 'c' ? 't' : next;
            if (next == 't' && last != 'c' && last != 't')
                roles[i] = 'a';
            roles[i + 1] = '\0';
        }
        json_t *messages = messages_of(roles);
        struct window window = window_of(messages, 0);
        size_t before = 0;
        for (size_t room = count; room-- > 0;) {
            size_t cut = window_cut(&window, before, room * TEXT_TOKENS);
            json_t *kept = window_apply(&window, cut, &none);
            assert_true(cut >= before);
            assert_false(cut > window.head && is_role(messages, cut, "tool"));
            assert_true(is_role(kept, 0, "system"));
            before = cut;
            json_decref(kept);
        }
        json_decref(messages);
    }
}

static void test_a_note_says_what_is_left_out(void **state)
{
    (void)state;
    json_t *messages = messages_of("suctctct");
    struct window window = window_of(messages, 0);
    json_t *kept = window_apply(&window, 6, &none);
    const char *note =
        json_string_value(json_object_get(json_array_get(kept, 2), "content"));
    assert_int_equal(json_array_size(kept), 5);
    assert_non_null(strstr(note, "4 earlier messages"));
    json_decref(kept);
    kept = window_apply(&window, 2, &none);
    assert_int_equal(json_array_size(kept), 8);
    json_decref(kept);
    json_decref(messages);
}

/* Every place that a cut may have: what stays is there, in order. */
static void test_the_task_stays_behind_what_was_said(void **state)
{
    (void)state;
    static const struct {
        size_t cut;
        const char *sent; /* n: a note */
    } rows[] = {
        { 1, "suauauct" },
        { 3, "snuauct" },
        { 6, "snuct" },
    };
    json_t *messages = messages_of("suauauct");
    struct window window = window_of(messages, 4);
    assert_int_equal(window.said, 1);
    assert_int_equal(window.task, 5);
    assert_int_equal(window.head, 6);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *kept = window_apply(&window, rows[i].cut, &none);
        uint64_t tokens = 0;
        print_message("cut at %zu\n", rows[i].cut);
        assert_int_equal(json_array_size(kept), strlen(rows[i].sent));
        for (size_t at = 0; rows[i].sent[at] != '\0'; at++) {
            char letter = rows[i].sent[at];
            json_t *message = json_array_get(kept, at);
            bool note =
                strstr(json_string_value(json_object_get(message, "content")),
                       "left out") != NULL;
            assert_int_equal(note, letter == 'n');
            assert_int_equal(is_role(kept, at, "user"),
                             letter == 'u' || letter == 'n');
            tokens += note ? 0 : window_tokens(message);
        }
        assert_int_equal(window_fixed(&window) +
                             window_behind(&window, rows[i].cut),
                         tokens);
        json_decref(kept);
    }
    json_decref(messages);
}

/* In the place of the notes, once; what it does not tell of is said. */
static void test_a_summary_takes_their_place(void **state)
{
    (void)state;
    static const struct {
        size_t cut, until;
        const char *sent; /* S: the summary */
        const char *says[2];
    } rows[] = {
        { 1, 0, "suauauctct", { "", "" } },
        { 3, 3, "sSuauctct", { "[2 earlier messages", "" } },
        { 5, 3, "sSuctct", { "[2 earlier messages", "[2 messages after" } },
        { 8, 8, "suSct", { "[6 earlier messages", "" } },
        { 8, 5, "suSct", { "[4 earlier messages", "[2 messages after" } },
        { 8, 9, "suSct", { "[6 earlier messages", "" } },
    };
    json_t *messages = messages_of("suauauctct");
    struct window window = window_of(messages, 4);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct window_summary summary = { VIEW("It was so."),
                                                rows[i].until };
        json_t *kept = window_apply(&window, rows[i].cut, &summary);
        print_message("cut at %zu, told to %zu\n", rows[i].cut, rows[i].until);
        assert_int_equal(json_array_size(kept), strlen(rows[i].sent));
        for (size_t at = 0; rows[i].sent[at] != '\0'; at++) {
            const char *text = json_string_value(
                json_object_get(json_array_get(kept, at), "content"));
            bool is_it = strstr(text, "It was so.") != NULL;
            assert_int_equal(is_it, rows[i].sent[at] == 'S');
            for (size_t j = 0; j < 2 && is_it; j++)
                assert_non_null(strstr(text, rows[i].says[j]));
            if (is_it && *rows[i].says[1] == '\0')
                assert_null(strstr(text, "messages after"));
        }
        json_decref(kept);
    }
    json_decref(messages);
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        uint64_t tokens;
    } rows[] = {
        { "{\"content\": \"abcdefgh\"}", 2 + 4 },
        { "{\"content\": \"\u4e2d\u6587\"}", 2 + 4 },
        { "{\"content\": null}", 4 },
        { "{\"tool_calls\": [{\"function\": {\"arguments\": \"abcd\"}}]}", 5 },
        { "{\"content\": [{\"type\": \"text\"}, {\"image_url\": {\"url\": "
          "\"data:image/png;base64,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}]}",
          1005 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *json = json_loads(rows[i].json, 0, NULL);
        print_message("%s\n", rows[i].json);
        assert_int_equal(window_tokens(json), rows[i].tokens);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_no_orphans),
        cmocka_unit_test(test_a_note_says_what_is_left_out),
        cmocka_unit_test(test_the_task_stays_behind_what_was_said),
        cmocka_unit_test(test_a_summary_takes_their_place),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
