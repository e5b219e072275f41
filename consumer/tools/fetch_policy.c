/* fetch_policy.c - where a page may be fetched from. */
#include "consumer/tools/fetch_policy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/internet.h"

enum { MAX_ENTRY = MAX_FETCH_HOST + 16, V4_BITS = 96 };

/* ::ffff:0:0/96, IPv4 in IPv6 (RFC 4291), and 64:ff9b::/96, which a NAT64
 * gateway turns into the IPv4 address behind it (RFC 6052). */
static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

/* ----------------------------------------------------------------- parsing */

static bool fetch_policy_refuse(struct err *err, const char *entry,
                                const char *why)
{
    return err_set(err, ERR_REJECT, "bad_setting",
                   "\"%.100s\" is no host, address or network: %s", entry, why);
}

static bool fetch_policy_read_number(const char *text, unsigned long most,
                                     unsigned long *number)
{
    char *end = NULL;
    *number = strtoul(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == '\0' && *number <= most;
}

/* Takes ":port" off the end. An IPv6 address without brackets has none. */
static bool take_port(char *text, uint16_t *port)
{
    char *from = *text == '[' ? strchr(text, ']') : text;
    char *colon = from ? strchr(from, ':') : NULL;
    unsigned long number;
    if (!colon || strchr(colon + 1, ':'))
        return from;
    if (!fetch_policy_read_number(colon + 1, UINT16_MAX, &number) ||
        number == 0)
        return false;
    *port = (uint16_t)number;
    *colon = '\0';
    return true;
}

/* Removes [ and ] around an address: "[fd00::]/8" becomes "fd00::/8". */
static void take_brackets(char *text)
{
    char *close = strchr(text, ']');
    if (*text != '[' || !close)
        return;
    memmove(close, close + 1, strlen(close));
    memmove(text, text + 1, strlen(text));
}

static bool read_address(struct fetch_rule *rule, const char *text)
{
    rule->bits = 128;
    if (inet_pton(AF_INET6, text, rule->bytes) == 1)
        return true;
    memcpy(rule->bytes, mapped, sizeof(mapped));
    return inet_pton(AF_INET, text, rule->bytes + sizeof(mapped)) == 1;
}

static bool read_network(struct fetch_rule *rule, char *text, char *slash)
{
    unsigned long bits;
    *slash = '\0';
    unsigned int before = !strchr(text, ':') ? V4_BITS : 0;
    if (!read_address(rule, text) ||
        !fetch_policy_read_number(slash + 1, 128 - before, &bits))
        return false;
    rule->bits = before + (unsigned int)bits;
    return true;
}

/* No name ends in a digit, so that an address that was not understood, such as
 * 10.1 or 10.0.0.256, is refused and not taken for a host. */
static bool is_name(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    return len > 0 && len <= MAX_FETCH_HOST && text[len - 1] != '.' &&
           !isdigit((unsigned char)text[len - 1]);
}

static bool add_rule(struct fetch_rules *rules, struct view entry,
                     struct err *err)
{
    char text[MAX_ENTRY + 1], whole[MAX_ENTRY + 1];
    if (rules->count == MAX_FETCH_RULES)
        return err_set(err, ERR_REJECT, "bad_setting", "more than %d entries",
                       MAX_FETCH_RULES);
    snprintf(whole, sizeof(whole), "%.*s", VIEW_ARG(entry));
    for (size_t i = 0; i <= strlen(whole); i++)
        text[i] = (char)tolower((unsigned char)whole[i]);
    if (entry.len > MAX_ENTRY)
        return fetch_policy_refuse(err, whole, "it is too long");
    struct fetch_rule *rule = &rules->items[rules->count++];
    *rule = (struct fetch_rule){ .host = "" };
    if (!take_port(text, &rule->port))
        return fetch_policy_refuse(err, whole, "a port is 1 to 65535");
    take_brackets(text);
    char *slash = strchr(text, '/');
    if (slash)
        return read_network(rule, text, slash) ||
               fetch_policy_refuse(err, whole, "a network is ADDRESS/BITS");
    if (read_address(rule, text))
        return true;
    if (!is_name(text + (*text == '.')))
        return fetch_policy_refuse(err, whole, "letters, digits, - and . only");
    memcpy(rule->host, text, strlen(text) + 1);
    return true;
}

bool fetch_rules_parse(struct fetch_rules *rules, struct view text,
                       struct err *err)
{
    *rules = (struct fetch_rules){ .count = 0 };
    for (size_t at = 0; at < text.len;) {
        size_t start = at;
        while (at < text.len && !isspace((unsigned char)text.data[at]) &&
               text.data[at] != ',')
            at++;
        struct view entry = { text.data + start, at - start };
        if (entry.len > 0 && !add_rule(rules, entry, err))
            return false;
        at++;
    }
    return true;
}

/* ---------------------------------------------------------------- deciding */

struct target {
    const char *host;
    uint8_t bytes[16]; /* IPv4 mapped into IPv6, also when it came as NAT64 */
    uint16_t port;
};

static bool read_target(struct target *target, const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof(four));
        memcpy(target->bytes, mapped, sizeof(mapped));
        memcpy(target->bytes + sizeof(mapped), &four.sin_addr, 4);
        target->port = ntohs(four.sin_port);
        return true;
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof(six));
    memcpy(target->bytes, &six.sin6_addr, 16);
    target->port = ntohs(six.sin6_port);
    if (memcmp(target->bytes, nat64, sizeof(nat64)) == 0)
        memcpy(target->bytes, mapped, sizeof(mapped));
    return true;
}

/* "example" matches itself, ".example" itself and all names below. */
static bool has_host(const struct fetch_rule *rule, const char *host)
{
    size_t len = strlen(host), own = strlen(rule->host);
    if (len > 0 && host[len - 1] == '.')
        len--; /* the root: example.com. is example.com */
    if (rule->host[0] == '.' && len == own - 1)
        return strncmp(host, rule->host + 1, len) == 0;
    bool below = rule->host[0] == '.' && len > own;
    return (below || len == own) &&
           strncmp(host + len - own, rule->host, own) == 0;
}

static bool has_address(const struct fetch_rule *rule, const uint8_t *bytes)
{
    size_t whole = rule->bits / 8;
    unsigned int rest = rule->bits % 8;
    if (memcmp(bytes, rule->bytes, whole) != 0)
        return false;
    return rest == 0 || (bytes[whole] ^ rule->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_among(const struct fetch_rules *rules,
                     const struct target *target)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct fetch_rule *rule = &rules->items[i];
        bool here = *rule->host != '\0' ? has_host(rule, target->host)
                                        : has_address(rule, target->bytes);
        if (here && (rule->port == 0 || rule->port == target->port))
            return true;
    }
    return false;
}

bool fetch_policy_allows(const struct fetch_policy *policy, const char *host,
                         const struct sockaddr *address, struct err *err)
{
    struct target target = { .host = host };
    if (!read_target(&target, address))
        return err_set(err, ERR_REJECT, "refused",
                       "%.100s is not on the internet", host);
    if (is_among(&policy->deny, &target))
        return err_set(err, ERR_REJECT, "refused",
                       "%.100s may not be fetched from here", host);
    if (is_among(&policy->allow, &target))
        return true;
    if (!internet_has6(target.bytes))
        return err_set(err, ERR_REJECT, "refused",
                       "%.100s has an address that is not of the public "
                       "internet; no page is fetched from there",
                       host);
    return target.port == 80 || target.port == 443 ||
           err_set(err, ERR_REJECT, "refused",
                   "%.100s:%u: pages are fetched from ports 80 and 443 only",
                   host, target.port);
}
