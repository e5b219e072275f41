/* test_names.c - keys and channels are what schemas/KEYS.md says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/limits.h"
#include "schemas/redis/names.h"
#include "schemas/redis/slot.h"

#define ID "019aa5c8-1b2c-70ab-8abc-0123456789ab"

static void keys_are_as_published(void **state)
{
    (void)state;
    struct names names;
    struct view id = VIEW(ID), queue = VIEW("default");
    struct view sha = VIEW("0123456789abcdef0123456789abcdef"
                           "0123456789abcdef0123456789abcdef");
    assert_true(names_init(&names, "quern:", NULL));

    struct {
        const char *want;
        struct key key;
    } rows[] = {
        { "quern:{0ab}:", names_root(&names, 0xab) },
        { "quern:fleet", names_fleet(&names) },
        { "quern:{quern:fleet}:waits", names_of_fleet(&names, "waits") },
        { "quern:{000}:work:default:normal",
          names_work(&names, 0, queue, PRIORITY_NORMAL) },
        { "quern:{000}:work:default:high",
          names_work(&names, 0, queue, PRIORITY_HIGH) },
        { "quern:{fff}:dead:default", names_dead(&names, 0xfff, queue) },
        { "quern:{000}:control", names_control(&names, 0) },
        { "quern:{0ab}:job:" ID, names_job(&names, id) },
        { "quern:{0ab}:journal:" ID, names_journal(&names, id) },
        { "quern:{0ab}:events:" ID, names_events(&names, id) },
        { "quern:{0ab}:result:" ID, names_result(&names, id) },
        { "quern:{0ab}:blob:0123456789abcdef0123456789abcdef"
          "0123456789abcdef0123456789abcdef",
          names_blob(&names, 0xab, sha) },
        { "quern:{000}:session:acme/s-1",
          names_session(&names, 0, VIEW("acme"), VIEW("s-1")) },
        { "quern:{000}:session:a%2Fb/user%3A42",
          names_session(&names, 0, VIEW("a/b"), VIEW("user:42")) },
        { "quern:{0ab}:sessions", names_sessions(&names, 0xab) },
        { "quern:{000}:spent:q/a%20b",
          names_spent(&names, 0, VIEW("q"), VIEW("a b")) },
        { "quern:{000}:lanes:default",
          names_of_queue(&names, 0, "lanes", queue) },
        { "quern:{0ab}:deadlines", names_of_root(&names, 0xab, "deadlines") },
        { "quern:{000}:schedule:nightly",
          names_schedule(&names, 0, VIEW("nightly")) },
        { "quern:{000}:worker:h.1", names_worker(&names, 0, VIEW("h.1")) },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(rows[i].want, rows[i].key.text);
        assert_true(view_is(key_view(&rows[i].key), rows[i].want));
    }
}

static void what_the_fleet_knows_is_in_one_slot(void **state)
{
    (void)state;
    struct names names;
    assert_true(names_init(&names, "a.prefix:", NULL));
    struct key fleet = names_fleet(&names);
    struct key beside = names_of_fleet(&names, "counts");
    assert_int_equal(slot_of(key_view(&beside)), slot_of(key_view(&fleet)));
}

static void the_longest_names_fit(void **state)
{
    (void)state;
    struct names names;
    char prefix[NAMES_MAX_PREFIX + 1], name[MAX_NAME_BYTES];

    for (size_t i = 0; i < sizeof(prefix); i++)
        prefix[i] = 'p';
    prefix[NAMES_MAX_PREFIX] = '\0';
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = 'q';
    assert_true(names_init(&names, prefix, NULL));
    struct key key = names_work(&names, 0, (struct view){ name, sizeof(name) },
                                PRIORITY_NORMAL);
    assert_int_equal(key.len, sizeof(prefix) - 1 + 6 + 5 + sizeof(name) + 7);
    for (size_t i = 0; i < sizeof(name); i++)
        name[i] = ':';
    struct view longest = { name, sizeof(name) };
    key = names_session(&names, 0, longest, longest);
    assert_int_equal(key.len, sizeof(prefix) - 1 + 6 + 8 + 6 * longest.len + 1);
}

static size_t from_hex(const char *digits, char *bytes)
{
    size_t len = strlen(digits) / 2;

    for (size_t i = 0; i < len; i++) {
        unsigned int byte;

        assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
        bytes[i] = (char)byte;
    }
    return len;
}

/* The same vectors are read by tests/scenario/test_labels.py for library/. */
static void labels_are_encoded_as_published(void **state)
{
    (void)state;
    json_t *vectors =
        json_load_file(SOURCE_DIR "/schemas/vectors/labels.json", 0, NULL);
    json_t *item;
    size_t i;

    assert_non_null(vectors);
    json_array_foreach(json_object_get(vectors, "labels"), i, item) {
        const char *label = json_string_value(json_object_get(item, "label"));
        const char *want = json_string_value(json_object_get(item, "encoded"));
        char back[MAX_NAME_BYTES + 1];

        assert_true(label_is_valid(view_of(label)));
        assert_string_equal(names_encode(view_of(label)).text, want);
        assert_true(names_decode(view_of(want), back));
        assert_string_equal(back, label);
    }
    json_array_foreach(json_object_get(vectors, "no_labels"), i, item) {
        char bytes[256];
        size_t len = from_hex(json_string_value(item), bytes);

        if (label_is_valid((struct view){ bytes, len }))
            fail_msg("%s is no label", json_string_value(item));
    }
    json_array_foreach(json_object_get(vectors, "no_encoded"), i, item) {
        char back[MAX_NAME_BYTES + 1];

        if (names_decode(view_of(json_string_value(item)), back))
            fail_msg("%s is no encoded label", json_string_value(item));
    }
    json_decref(vectors);
}

static void prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *prefix;
        bool good;
    } rows[] = {
        { "quern:", true },
        { "", true },
        { "Team-1.quern_2:", true },
        { "has space:", false },
        { "has{brace}:", false },
        { "has*star", false },
        { "0123456789012345678901234567890123456789012345678901234567890123",
          true },
        { "01234567890123456789012345678901234567890123456789012345678901234",
          false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct names names;
        struct err err = { 0 };
        if (names_init(&names, rows[i].prefix, &err) != rows[i].good)
            fail_msg("\"%s\": %s", rows[i].prefix, err.text);
        if (!rows[i].good)
            assert_string_equal(err.code, "bad_setting");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_as_published),
        cmocka_unit_test(what_the_fleet_knows_is_in_one_slot),
        cmocka_unit_test(the_longest_names_fit),
        cmocka_unit_test(labels_are_encoded_as_published),
        cmocka_unit_test(prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
