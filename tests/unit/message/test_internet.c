/* Which addresses are of the public internet. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schemas/message/internet.h"

static const struct {
    const char *text;
    bool public;
} rows[] = {
    { "93.184.215.14", true },
    { "1.1.1.1", true },
    { "223.255.255.255", true },
    { "0.0.0.0", false },
    { "0.255.255.255", false },
    { "9.255.255.255", true },
    { "10.0.0.0", false },
    { "10.255.255.255", false },
    { "11.0.0.0", true },
    { "100.63.255.255", true },
    { "100.64.0.0", false },
    { "100.127.255.255", false },
    { "100.128.0.0", true },
    { "127.0.0.1", false },
    { "127.255.255.254", false },
    { "168.63.129.16", false },
    { "168.63.129.17", true },
    { "169.253.255.255", true },
    { "169.254.169.254", false },
    { "172.15.255.255", true },
    { "172.16.0.0", false },
    { "172.31.255.255", false },
    { "172.32.0.0", true },
    { "192.0.0.192", false },
    { "192.0.1.0", true },
    { "192.0.2.1", false },
    { "192.167.255.255", true },
    { "192.168.0.0", false },
    { "192.169.0.0", true },
    { "198.17.255.255", true },
    { "198.18.0.0", false },
    { "198.19.255.255", false },
    { "198.20.0.0", true },
    { "198.51.100.1", false },
    { "203.0.113.1", false },
    { "224.0.0.1", false },
    { "239.255.255.250", false },
    { "240.0.0.1", false },
    { "255.255.255.255", false },
    { "2606:2800:21f:cb07::1", true },
    { "2a00:1450::1", true },
    { "::", false },
    { "::1", false },
    { "::ffff:127.0.0.1", false },
    { "::ffff:10.0.0.1", false },
    { "::ffff:93.184.215.14", true },
    { "::93.184.215.14", false },
    { "64:ff9b::7f00:1", false },
    { "64:ff9b::a9fe:a9fe", false },
    { "64:ff9b::5db8:d70e", true },
    { "64:ff9b:1::5db8:d70e", false },
    { "100::1", false },
    { "2001::1", false },
    { "2001:1ff::1", false },
    { "2001:200::1", true },
    { "2001:db8::1", false },
    { "2002:7f00:1::1", false },
    { "2620:4f:8000::1", false },
    { "3fff::1", false },
    { "3fff:fff::1", false },
    { "3ffe::1", true },
    { "4000::1", false },
    { "fc00::1", false },
    { "fd00:ec2::254", false },
    { "fe80::1", false },
    { "fec0::1", false },
    { "ff02::1", false },
};

static void addresses_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sockaddr_in four = { .sin_family = AF_INET };
        struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
        const struct sockaddr *address = (const struct sockaddr *)&four;
        if (inet_pton(AF_INET, rows[i].text, &four.sin_addr) != 1) {
            assert_int_equal(inet_pton(AF_INET6, rows[i].text, &six.sin6_addr),
                             1);
            address = (const struct sockaddr *)&six;
        }
        if (internet_has(address) != rows[i].public)
            fail_msg("%s", rows[i].text);
    }
}

static void another_family_is_not_public(void **state)
{
    (void)state;
    struct sockaddr_in address = { .sin_family = AF_UNIX };
    assert_false(internet_has((const struct sockaddr *)&address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_known),
        cmocka_unit_test(another_family_is_not_public),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
