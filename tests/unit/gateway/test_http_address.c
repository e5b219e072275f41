/* test_http_address.c - one host is one address, also when it has a network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <cmocka.h>

#include "producer/gateway/http/http_address.h"

static const struct {
    const char *peer, *text;
} rows[] = {
    { "192.0.2.1", "192.0.2.1" },
    { "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::" },
    { "2001:db8:1:2:ffff::1", "2001:db8:1:2::" },
    { "2001:db8:1:3::1", "2001:db8:1:3::" },
    { "::1", "::" },
    { "::ffff:192.0.2.1", "::ffff:192.0.2.1" },
    { "::ffff:192.0.2.2", "::ffff:192.0.2.2" },
};

static void text_of(const char *peer, char text[HTTP_ADDRESS_TEXT])
{
    struct sockaddr_storage name = { 0 };

    if (uv_ip4_addr(peer, 80, (struct sockaddr_in *)&name) < 0)
        assert_int_equal(uv_ip6_addr(peer, 80, (struct sockaddr_in6 *)&name),
                         0);
    assert_true(http_address_text(&name, text));
}

static void v6_is_cut_to_its_network(void **state)
{
    struct sockaddr_storage of_unix = { .ss_family = AF_UNIX };
    char text[HTTP_ADDRESS_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        text_of(rows[i].peer, text);
        assert_string_equal(text, rows[i].text);
    }
    assert_false(http_address_text(&of_unix, text));
}

static void hosts_of_a_network_are_counted_together(void **state)
{
    struct http_addresses *addresses = http_addresses_new();
    struct http_address *taken[3];
    char text[HTTP_ADDRESS_TEXT];

    (void)state;
    for (size_t i = 1; i < 4; i++) {
        text_of(rows[i].peer, text);
        taken[i - 1] = http_address_take(addresses, text);
    }
    assert_ptr_equal(taken[0], taken[1]);
    assert_int_equal(taken[0]->connections, 2);
    assert_int_equal(taken[2]->connections, 1);
    http_address_give(addresses, taken[1]);
    assert_int_equal(taken[0]->connections, 1);
    http_address_give(addresses, taken[0]);
    http_address_give(addresses, taken[2]);
    http_address_give(addresses, NULL);
    taken[0] = http_address_take(addresses, text);
    assert_int_equal(taken[0]->connections, 1);
    http_address_give(addresses, taken[0]);
    http_addresses_free(addresses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v6_is_cut_to_its_network),
        cmocka_unit_test(hosts_of_a_network_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
