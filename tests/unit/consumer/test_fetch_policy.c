/* Where pages may be fetched from. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/tools/fetch_policy.h"

/* allow, deny; the host, the address that it has, the port; may it, or what is
 * said. */
static const struct {
    const char *name, *allow, *deny, *host, *address;
    uint16_t port;
    const char *refuse; /* in the sentence; NULL: it may */
} rows[] = {
    { "a public one", "", "", "a.example", "93.184.215.14", 443, NULL },
    { "of IPv6", "", "", "a.example", "2606:2800:21f::1", 80, NULL },
    { "another port", "", "", "a.example", "93.184.215.14", 8080,
      "a.example:8080: pages are fetched from ports 80 and 443 only" },
    { "a mail server", "", "", "a.example", "93.184.215.14", 25, "ports 80" },
    { "loopback", "", "", "a.example", "127.0.0.1", 80, "not of the public" },
    { "a name of a private one", "", "", "a.example", "10.1.2.3", 443,
      "a.example has an address that is not of the public internet" },
    { "metadata", "", "", "m", "169.254.169.254", 80, "not of the public" },
    { "mapped", "", "", "m", "::ffff:127.0.0.1", 80, "not of the public" },
    { "mapped and public", "", "", "m", "::ffff:93.184.215.14", 80, NULL },
    { "through NAT64", "", "", "m", "64:ff9b::7f00:1", 80, "not of the" },
    { "link-local", "", "", "m", "fe80::1", 80, "not of the public" },
    { "allowed by name", "wiki.example", "", "wiki.example", "10.1.2.3", 8080,
      NULL },
    { "with a dot at its end", "wiki.example", "", "wiki.example.", "10.1.2.3",
      80, NULL },
    { "another name", "wiki.example", "", "iki.example", "10.1.2.3", 80,
      "not of" },
    { "a name in front", "wiki.example", "", "a.wiki.example", "10.1.2.3", 80,
      "not of" },
    { "below a name", ".example", "", "a.b.example", "10.1.2.3", 80, NULL },
    { "that name itself", ".example", "", "example", "10.1.2.3", 80, NULL },
    { "one that ends the same", ".example", "", "anexample", "10.1.2.3", 80,
      "not of" },
    { "allowed at a port", "wiki.example:8080", "", "wiki.example", "10.1.2.3",
      8080, NULL },
    { "not at another", "wiki.example:8080", "", "wiki.example", "10.1.2.3",
      8081, "not of" },
    { "an address", "10.1.2.3", "", "x", "10.1.2.3", 80, NULL },
    { "the one beside", "10.1.2.3", "", "x", "10.1.2.4", 80, "not of" },
    { "a network", "10.1.0.0/20", "", "x", "10.1.15.255", 80, NULL },
    { "beyond it", "10.1.0.0/20", "", "x", "10.1.16.0", 80, "not of" },
    { "a network at a port", "10.0.0.0/8:81", "", "x", "10.1.2.3", 80,
      "not of" },
    { "a network, mapped", "10.0.0.0/8", "", "x", "::ffff:10.1.2.3", 80, NULL },
    { "of IPv6, allowed", "fd00::/8", "", "x", "fd12::1", 80, NULL },
    { "with brackets", "[fd00::1]:8080", "", "x", "fd00::1", 8080, NULL },
    { "one of IPv6 alone", "fd00::1", "", "x", "fd00::2", 80, "not of" },
    { "a list", "a.example, 10.0.0.0/8\n192.168.0.1", "", "x", "192.168.0.1",
      80, NULL },
    { "denied", "", "a.example", "a.example", "93.184.215.14", 80,
      "a.example may not be fetched" },
    { "denied by address", "", "93.184.0.0/16", "a.example", "93.184.215.14",
      80, "may not be fetched" },
    { "denied, however it is written", "", "93.184.215.14", "x",
      "64:ff9b::5db8:d70e", 80, "may not be fetched" },
    { "denied wins", "a.example", "10.0.0.0/8", "a.example", "10.1.2.3", 80,
      "may not be fetched" },
    { "everything denied", "", "0.0.0.0/0 ::/0", "x", "2606:2800:21f::1", 80,
      "may not be fetched" },
};

static void make_address(struct sockaddr_storage *to, const char *text,
                         uint16_t port)
{
    struct sockaddr_in four = { .sin_family = AF_INET,
                                .sin_port = htons(port) };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                .sin6_port = htons(port) };
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
        memcpy(to, &four, sizeof(four));
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
        memcpy(to, &six, sizeof(six));
    }
}

static void an_address_is_public_or_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct fetch_policy policy;
        struct sockaddr_storage address;
        struct err err = { .kind = ERR_NONE };
        make_address(&address, rows[i].address, rows[i].port);
        if (!fetch_rules_parse(&policy.allow, view_of(rows[i].allow), &err) ||
            !fetch_rules_parse(&policy.deny, view_of(rows[i].deny), &err))
            fail_msg("%s: %s", rows[i].name, err.text);
        bool good = fetch_policy_allows(
            &policy, rows[i].host, (const struct sockaddr *)&address, &err);
        if (good != (rows[i].refuse == NULL) ||
            (!good && !strstr(err.text, rows[i].refuse)))
            fail_msg("%s: %s", rows[i].name, good ? "allowed" : err.text);
    }
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list, *sentence;
    } bad[] = {
        { "a b!c", "\"b!c\" is no host, address or network: letters" },
        { "10.0.0.0/33", "\"10.0.0.0/33\" is no host" },
        { "10.0.0.0/", "a network is ADDRESS/BITS" },
        { "a.example/8", "a network is ADDRESS/BITS" },
        { "fd00::/129", "a network is ADDRESS/BITS" },
        { "a.example:0", "a port is 1 to 65535" },
        { "a.example:65536", "a port is 1 to 65535" },
        { "a.example:x", "a port is 1 to 65535" },
        { "[fd00::1", "a port is" },
        { "10.0.0", "letters, digits" },
        { "http://a.example/", "is no host" },
        { "*.example", "letters, digits, - and . only" },
        { "..", "letters, digits" },
        { "a.", "letters, digits" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fetch_rules rules;
        struct err err = { .kind = ERR_NONE };
        if (fetch_rules_parse(&rules, view_of(bad[i].list), &err) ||
            !strstr(err.text, bad[i].sentence))
            fail_msg("%s: %s", bad[i].list, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_public_or_allowed),
        cmocka_unit_test(bad_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
