/* test_address.c - what URLs mean, and which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <string.h>

#include <cmocka.h>

#include "schemas/redis/address.h"

struct good {
    const char *url;
    const char *print;
    const char *user;
    const char *password;
};

static const struct good good[] = {
    { "", "redis://127.0.0.1:6379/0", NULL, NULL },
    { "redis://", "redis://127.0.0.1:6379/0", NULL, NULL },
    { "redis:///", "redis://127.0.0.1:6379/0", NULL, NULL },
    { "redis:///3", "redis://127.0.0.1:6379/3", NULL, NULL },
    { "redis://cache", "redis://cache:6379/0", NULL, NULL },
    { "redis://cache/", "redis://cache:6379/0", NULL, NULL },
    { "redis://cache:7000", "redis://cache:7000/0", NULL, NULL },
    { "redis://cache:7000/15", "redis://cache:7000/15", NULL, NULL },
    { "redis://cache?db=4", "redis://cache:6379/4", NULL, NULL },
    { "redis://cache?", "redis://cache:6379/0", NULL, NULL },
    { "redis://:7000", "redis://127.0.0.1:7000/0", NULL, NULL },
    { "REDIS://cache", "redis://cache:6379/0", NULL, NULL },
    { "redis://10.0.0.7:65535/0", "redis://10.0.0.7:65535/0", NULL, NULL },
    { "redis://[::1]", "redis://[::1]:6379/0", NULL, NULL },
    { "redis://[2001:db8::5]:7000/2", "redis://[2001:db8::5]:7000/2", NULL,
      NULL },
    { "redis://:secret@cache", "redis://cache:6379/0", NULL, "secret" },
    { "redis://ann:secret@cache", "redis://ann@cache:6379/0", "ann", "secret" },
    { "redis://ann:a:b@cache", "redis://ann@cache:6379/0", "ann", "a:b" },
    { "redis://ann:a@b@cache", "redis://ann@cache:6379/0", "ann", "a@b" },
    { "redis://a%40n:%2f%3F%25@cache", "redis://a@n@cache:6379/0", "a@n",
      "/?%" },
    { "redis://:%C3%A9%41@cache", "redis://cache:6379/0", NULL,
      "\xc3\xa9"
      "A" },
    { "redis://:@cache", "redis://cache:6379/0", NULL, NULL },
    { "redis://@cache", "redis://cache:6379/0", NULL, NULL },
    { "unix:///run/redis.sock", "unix:///run/redis.sock?db=0", NULL, NULL },
    { "unix:///run/redis.sock?db=9", "unix:///run/redis.sock?db=9", NULL,
      NULL },
    { "unix://:pw@/run/redis.sock", "unix:///run/redis.sock?db=0", NULL, "pw" },
    { "unix://ann:pw@/run/redis.sock?db=1", "unix://ann@/run/redis.sock?db=1",
      "ann", "pw" },
    { "unix:///run/with%20space", "unix:///run/with space?db=0", NULL, NULL },
    { "unix://@/run/redis.sock", "unix:///run/redis.sock?db=0", NULL, NULL },
    { "redis+unix:///a", "unix:///a?db=0", NULL, NULL },
    { "redis+socket:///a?db=2", "unix:///a?db=2", NULL, NULL },
    { "/run/redis.sock", "unix:///run/redis.sock?db=0", NULL, NULL },
    { "/run/redis.sock?db=3", "unix:///run/redis.sock?db=3", NULL, NULL },
    { "cache:7000", "redis://cache:7000/0", NULL, NULL },
    { "cache", "redis://cache:6379/0", NULL, NULL },
    { ":7000", "redis://127.0.0.1:7000/0", NULL, NULL },
    { "redis+sentinel://a/jobs", "redis+sentinel://a:26379/jobs/0", NULL,
      NULL },
    { "redis+sentinel://a,b:7,[::1]/jobs/3",
      "redis+sentinel://a:26379,b:7,[::1]:26379/jobs/3", NULL, NULL },
    { "redis+sentinel://a/jobs/", "redis+sentinel://a:26379/jobs/0", NULL,
      NULL },
    { "redis+sentinel://a/jobs?db=3", "redis+sentinel://a:26379/jobs/3", NULL,
      NULL },
    { "redis+sentinel://ann:x,y@a,b/my.master-1_x",
      "redis+sentinel://ann@a:26379,b:26379/my.master-1_x/0", "ann", "x,y" },
    { "redis+cluster://a", "redis+cluster://a:6379", NULL, NULL },
    { "redis+cluster://:pw@a:7000,b:7001,c/",
      "redis+cluster://a:7000,b:7001,c:6379", NULL, "pw" },
    { "Redis+Cluster://a/0", "redis+cluster://a:6379", NULL, NULL },
};

static void assert_text(const char *url, const char *got, const char *want)
{
    if ((!got) != (!want) || (got && strcmp(got, want) != 0))
        fail_msg("%s: \"%s\", not \"%s\"", url, got ? got : "(none)",
                 want ? want : "(none)");
}

static void good_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const struct good *row = &good[i];
        struct address address, copy;
        struct err err;
        char print[256];

        if (!address_parse(&address, view_of(row->url), &err))
            fail_msg("%s: %s", row->url, err.text);
        address_copy(&copy, &address);
        address_finish(&address);
        address_print(&copy, print, sizeof(print));
        assert_text(row->url, print, row->print);
        assert_text(row->url, copy.user, row->user);
        assert_text(row->url, copy.password, row->password);
        address_finish(&copy);
    }
}

static const struct {
    const char *url;
    const char *says;
} bad[] = {
    { "http://cache", "must begin with" },
    { "redis-sentinel://cache", "must begin with" },
    { "redis-cluster://cache", "redis+cluster://" },
    { "redis://a,b", "several hosts" },
    { "a:1,b:2", "several hosts" },
    { "redis+sentinel://", "name of their master" },
    { "redis+sentinel://a", "name of their master" },
    { "redis+sentinel://a/", "name of their master" },
    { "redis+sentinel://a//1", "name of their master" },
    { "redis+sentinel://a/jobs/x", "database" },
    { "redis+sentinel://a/jobs/1/2", "database" },
    { "redis+sentinel://a/jo%62s", "master's name" },
    { "redis+sentinel://a/0123456789012345678901234567890123456789012345678901"
      "234567890123456789012345678901234567890123456789012345678901234567890123"
      "4"
      "5678",
      "127 bytes" },
    { "redis+sentinel://a,/jobs", "host is missing" },
    { "redis+sentinel:///jobs", "host is missing" },
    { "redis+sentinel://a,:7/jobs", "host is missing" },
    { "redis+sentinel://a,b:0/jobs", "port" },
    { "redis+sentinel://a:1:2,b/jobs", "port" },
    { "redis+sentinel://ann@a,b/jobs", ":password@" },
    { "redis+cluster://", "host is missing" },
    { "redis+cluster://a,,b", "host is missing" },
    { "redis+cluster://a/1", "database 0" },
    { "redis+cluster://a?db=2", "database 0" },
    { "redis+cluster://a/jobs", "database" },
    { "redis+cluster://a,b\"c", "character" },
    { "redis+cluster://a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"
      "a,a,a,a,a",
      "32 hosts" },
    { "redis://redis://cache", "must begin with" },
    { "redis://cache:0", "port" },
    { "redis://cache:65536", "port" },
    { "redis://cache:", "port" },
    { "redis://cache:7x", "port" },
    { "redis://cache:-1", "port" },
    { "redis://cache:123456", "port" },
    { "redis://2001:db8::5", "port" },
    { "redis://[::1", "IPv6" },
    { "redis://[]:1", "IPv6" },
    { "redis://[::1]x", "port" },
    { "redis://cache/x", "database" },
    { "redis://cache/-1", "database" },
    { "redis://cache/1/2", "database" },
    { "redis://cache/65536", "database" },
    { "redis://cache?db=", "database" },
    { "redis://cache?timeout=5", "db=NUMBER" },
    { "redis://s3cret@cache", ":password@" },
    { "redis://ann:@cache", ":password@" },
    { "redis://:%zz@cache", "password" },
    { "redis://:%2@cache", "password" },
    { "redis://:%@cache", "password" },
    { "redis://:%00@cache", "password" },
    { "redis://%zz:x@cache", "user" },
    { "redis://:s3cret/x@cache", "database" },
    { "redis://ca che", "space" },
    { "redis://cache\n", "space" },
    { "redis://ca\"che", "character" },
    { "redis://ca\xc3\xa9", "character" },
    { "unix://run/redis.sock", "begin with /" },
    { "unix://", "missing" },
    { "unix:///", "missing" },
    { "unix:///a%00b", "path" },
    { "/", "missing" },
    { "unix:///0123456789012345678901234567890123456789012345678901234567890"
      "1234567890123456789012345678901234567890123456",
      "107 bytes" },
};

static void bad_urls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct address address;
        struct err err = { 0 };

        if (address_parse(&address, view_of(bad[i].url), &err))
            fail_msg("%s: accepted", bad[i].url);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%s: %s", bad[i].url, err.text);
        assert_string_equal(err.code, "bad_setting");
        assert_int_equal(err.kind, ERR_REJECT);
        if (strstr(err.text, "s3cret"))
            fail_msg("%s: tells the password", bad[i].url);
        assert_null(address.password);
    }
}

/* Where hiredis has TLS it is taken, else refused in a sentence. */
static void tls_url(void **state)
{
    (void)state;
    struct address address;
    struct err err;

    static const char *const urls[] = { "rediss://cache:7000",
                                        "rediss+sentinel://cache/jobs",
                                        "rediss+cluster://cache:7000" };

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        char print[256];
        if (address_parse(&address, view_of(urls[i]), &err)) {
            assert_true(address.tls);
            address_print(&address, print, sizeof(print));
            assert_int_equal(strncmp(print, urls[i], strlen("rediss+")), 0);
            address_finish(&address);
        } else {
            assert_non_null(strstr(err.text, "hiredis 1.0"));
        }
    }
}

static void sentinels_are_servers_too(void **state)
{
    (void)state;
    struct address address, sentinels;
    char print[256];

    assert_true(address_parse(&address,
                              VIEW("redis+sentinel://a:pw@s,t/jobs/3"), NULL));
    address_set_sentinel_password(&address, "guard");
    assert_true(address_of_sentinels(&sentinels, &address));
    address_print(&sentinels, print, sizeof(print));
    assert_string_equal(print, "redis://s:26379,t:26379/0");
    assert_string_equal(sentinels.password, "guard");
    assert_null(sentinels.user);
    address_finish(&sentinels);
    address_finish(&address);
    assert_true(address_parse(&address, VIEW("redis+cluster://s"), NULL));
    assert_false(address_of_sentinels(&sentinels, &address));
    address_finish(&sentinels);
    address_finish(&address);
}

static void the_sentinels_password_is_not_the_servers(void **state)
{
    (void)state;
    struct address address, copy;
    char print[256];

    assert_true(
        address_parse(&address, VIEW("redis+sentinel://:pw@a/jobs"), NULL));
    address_set_sentinel_password(&address, "");
    assert_null(address.sentinel_password);
    address_set_sentinel_password(&address, "other");
    address_copy(&copy, &address);
    address_finish(&address);
    assert_string_equal(copy.sentinel_password, "other");
    assert_string_equal(copy.password, "pw");
    address_print(&copy, print, sizeof(print));
    assert_null(strstr(print, "other"));
    address_set_sentinel_password(&copy, NULL);
    assert_null(copy.sentinel_password);
    address_finish(&copy);
}

/* Where hiredis has no TLS no such URL is taken, so only one is tried. */
static void files_of_tls(void **state)
{
    (void)state;
    struct address address, copy;
    struct address_tls files = { .ca = (char[]){ "/a" },
                                 .certificate = (char[]){ "/b" },
                                 .key = (char[]){ "" } };
    struct err err = { 0 };

    assert_true(address_parse(&address, VIEW("redis://h"), &err));
    assert_false(address_set_tls(&address, &files, &err));
    assert_non_null(strstr(err.text, "write rediss:"));
    assert_true(address_set_tls(&address, &(struct address_tls){ 0 }, &err));
    address.tls = true;
    assert_false(address_set_tls(&address, &files, &err));
    assert_non_null(strstr(err.text, "a certificate without its key"));
    files.key = files.certificate;
    files.certificate = NULL;
    assert_false(address_set_tls(&address, &files, &err));
    assert_non_null(strstr(err.text, "a key without its certificate"));
    files.certificate = files.key;
    assert_true(address_set_tls(&address, &files, &err));
    assert_true(address_set_tls(&address, &files, &err));
    address_copy(&copy, &address);
    address_finish(&address);
    assert_string_equal(copy.files.ca, "/a");
    assert_string_equal(copy.files.certificate, "/b");
    assert_null(copy.files.server_name);
    address_finish(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_tls),
        cmocka_unit_test(sentinels_are_servers_too),
        cmocka_unit_test(the_sentinels_password_is_not_the_servers),
        cmocka_unit_test(good_urls),
        cmocka_unit_test(bad_urls),
        cmocka_unit_test(tls_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
