/* The operator's list of hosts: what it may say, and what it lets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "executor/proxy/hosts.h"

static struct hosts hosts;

static const struct {
    const char *name;
    const char *list;
    const char *described; /* NULL: refused */
} lists[] = {
    { "one host", "pypi.org", "pypi.org" },
    { "several", "pypi.org,.b.org:8080", "pypi.org, .b.org:8080" },
    { "lines with comments", "# ours\na.org # a\n\n\tb.org\r\n",
      "a.org, b.org" },
    { "capital letters and the root", "PyPI.Org.", "pypi.org" },
    { "addresses", "1.1.1.1,[2606:4700::1111]:80",
      "1.1.1.1, [2606:4700::1111]:80" },
    { "nothing", "", NULL },
    { "a comment alone", "# a.org", NULL },
    { "an address of the host", "127.0.0.1", NULL },
    { "a private address", "[fd00::1]", NULL },
    { "an address with names below it", ".1.1.1.1", NULL },
    { "IPv6 without brackets", "2606:4700::1111", NULL },
    { "an address of the web", "http://a.org", NULL },
    { "a star", "*.a.org", NULL },
    { "all", ".", NULL },
    { "port 0", "a.org:0", NULL },
    { "a port that is none", "a.org:http", NULL },
    { "an empty part", "a..org", NULL },
};

static void lists_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct err err;
        char text[200] = "";
        bool good = hosts_parse(&hosts, view_of(lists[i].list), &err);
        if (good)
            hosts_describe(&hosts, text, sizeof(text));
        if (good != (lists[i].described != NULL) ||
            (good && strcmp(text, lists[i].described) != 0))
            fail_msg("%s: %s", lists[i].name, good ? text : err.text);
    }
}

static const struct {
    const char *name;
    uint16_t port;
    bool allowed;
} asked[] = {
    { "exact.org", 80, true },        { "exact.org", 443, true },
    { "exact.org", 22, false },       { "a.exact.org", 80, false },
    { "inexact.org", 80, false },     { "below.org", 443, true },
    { "a.b.below.org", 443, true },   { "tobelow.org", 443, false },
    { "below.org.evil", 443, false }, { "ported.org", 8443, true },
    { "ported.org", 443, false },     { "org", 80, false },
    { "1.1.1.1", 80, true },          { "1.1.1.2", 80, false },
};

static void who_is_on_the_list_gets_through(void **state)
{
    (void)state;
    struct err err;
    assert_true(hosts_parse(
        &hosts, VIEW("exact.org,.below.org,ported.org:8443,1.1.1.1"), &err));
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        if (hosts_allow(&hosts, asked[i].name, asked[i].port) !=
            asked[i].allowed)
            fail_msg("%s:%u", asked[i].name, asked[i].port);
}

static void a_list_is_bounded(void **state)
{
    (void)state;
    struct err err;
    char list[4 * (MAX_HOSTS + 1)] = "";
    for (int i = 0; i < MAX_HOSTS; i++)
        memcpy(list + 4 * i, "a.b,", 4);
    assert_true(hosts_parse(&hosts, view_of(list), &err));
    memcpy(list + 4 * MAX_HOSTS, "a.b", 4);
    assert_false(hosts_parse(&hosts, view_of(list), &err));
    assert_non_null(strstr(err.text, "more than 256 hosts"));
}

static void a_long_list_is_told_in_part(void **state)
{
    (void)state;
    struct err err;
    char text[16];
    assert_true(hosts_parse(&hosts, VIEW("a.org,b.org,c.org,d.org"), &err));
    hosts_describe(&hosts, text, sizeof(text));
    assert_string_equal(text, "a.org, ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(who_is_on_the_list_gets_through),
        cmocka_unit_test(a_list_is_bounded),
        cmocka_unit_test(a_long_list_is_told_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
