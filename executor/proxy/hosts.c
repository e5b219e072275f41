/* hosts.c - where an operator lets sessions go: a list of hosts.
 *
 * The same parser reads the operator's entries and the hosts of requests, so
 * the two are compared in one form: nothing is allowed by being spelled
 * otherwise. */
#include "executor/proxy/hosts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/internet.h"

enum { MAX_LABEL_BYTES = 63, MAX_PORT_DIGITS = 5 };

static bool hosts_refuse(struct err *err, struct view text, const char *why)
{
    return err_set(err, ERR_REJECT, "bad_host", "\"%.*s\" is no host: %s",
                   VIEW_ARG(view_head(text, 100)), why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ----------------------------------------------------------------- a host */

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

/* Labels of one to 63 letters, digits, - and _, with dots between them. */
static bool is_name(const char *name)
{
    size_t label = 0;
    for (; *name; name++) {
        bool ends = *name == '.';
        if (ends ? label == 0 : !is_name_byte(*name))
            return false;
        label = ends ? 0 : label + 1;
        if (label > MAX_LABEL_BYTES)
            return false;
    }
    return label > 0;
}

/* getaddrinfo() also takes addresses like 0x7f.1 or 2130706433, as inet_aton()
 * does: they all have a last part that begins with a digit. No name of the
 * internet has. */
static bool looks_like_number(const char *name)
{
    const char *last = strrchr(name, '.');
    return last ? is_digit(last[1]) : is_digit(name[0]);
}

/* In the one spelling of inet_ntop(). family: AF_INET or AF_INET6; text may be
 * longer than any address. */
static bool write_address(int family, struct view text,
                          char name[MAX_HOST_BYTES + 1])
{
    char given[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    if (text.len >= sizeof(given))
        return false;
    memcpy(given, text.data, text.len);
    given[text.len] = '\0';
    return strlen(given) == text.len && inet_pton(family, given, bytes) == 1 &&
           inet_ntop(family, bytes, name, MAX_HOST_BYTES + 1);
}

static bool write_name(struct view text, char name[MAX_HOST_BYTES + 1],
                       struct err *err)
{
    if (text.len > 1 && text.data[text.len - 1] == '.')
        text.len--; /* the root: example.com. is example.com */
    if (text.len == 0 || text.len > MAX_HOST_BYTES)
        return hosts_refuse(err, text, "must have 1 to 253 bytes");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        name[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    name[text.len] = '\0';
    if (strlen(name) != text.len || !is_name(name))
        return hosts_refuse(err, text,
                            "letters, digits, - and _ only, in parts of "
                            "1 to 63, with dots between them");
    if (looks_like_number(name) && !write_address(AF_INET, text, name))
        return hosts_refuse(err, text, "an address is written as four numbers");
    return true;
}

static bool read_port(struct view text, uint16_t *port)
{
    unsigned int value = 0;
    if (text.len == 0 || text.len > MAX_PORT_DIGITS)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i]))
            return false;
        value = value * 10 + (unsigned int)(text.data[i] - '0');
    }
    *port = (uint16_t)value;
    return value >= 1 && value <= UINT16_MAX;
}

/* Where the host ends and ":port" begins; text.len: there is no port. */
static size_t find_end(struct view text)
{
    char end = text.len > 0 && text.data[0] == '[' ? ']' : ':';
    const char *found = text.len ? memchr(text.data, end, text.len) : NULL;
    size_t at = found ? (size_t)(found - text.data) : text.len;
    return end == ']' && found ? at + 1 : at;
}

bool host_parse(struct view text, char name[MAX_HOST_BYTES + 1], uint16_t *port,
                struct err *err)
{
    size_t end = find_end(text);
    struct view host = { text.data, end };
    if (end < text.len &&
        (text.data[end] != ':' ||
         !read_port((struct view){ text.data + end + 1, text.len - end - 1 },
                    port)))
        return hosts_refuse(err, text, "a port is 1 to 65535");
    if (!view_starts(host, "["))
        return write_name(host, name, err);
    if (end < 2 || host.data[end - 1] != ']' ||
        !write_address(AF_INET6, (struct view){ host.data + 1, end - 2 }, name))
        return hosts_refuse(err, text, "no IPv6 address between [ and ]");
    return true;
}

/* -------------------------------------------------------------- the list */

static bool is_private(const char *name)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, name, &four.sin_addr) == 1)
        return !internet_has((const struct sockaddr *)&four);
    return inet_pton(AF_INET6, name, &six.sin6_addr) == 1 &&
           !internet_has((const struct sockaddr *)&six);
}

/* name: as host_parse() gives it. */
static bool is_address(const char *name)
{
    return strchr(name, ':') || looks_like_number(name);
}

static bool hosts_add_entry(struct hosts *hosts, struct view text,
                            struct err *err)
{
    if (hosts->count == MAX_HOSTS)
        return err_set(err, ERR_REJECT, "bad_host", "more than %d hosts",
                       MAX_HOSTS);
    struct host *entry = &hosts->entries[hosts->count++];
    bool suffix = view_starts(text, ".");
    *entry = (struct host){ .name = "." };
    struct view rest = { text.data + suffix, text.len - suffix };
    if (!host_parse(rest, entry->name + suffix, &entry->port, err))
        return false;
    if (suffix && is_address(entry->name + 1))
        return hosts_refuse(err, text, "an address has no names below it");
    if (is_private(entry->name))
        return hosts_refuse(err, text,
                            "not an address of the public internet, "
                            "which is where sessions may go");
    return true;
}

static bool is_between(char c)
{
    return c != '\0' && strchr(", \t\r\n#", c);
}

bool hosts_parse(struct hosts *hosts, struct view text, struct err *err)
{
    size_t at = 0;
    hosts->count = 0;
    if (text.len > MAX_HOSTS_BYTES)
        return err_set(err, ERR_REJECT, "bad_host", "longer than %d bytes",
                       MAX_HOSTS_BYTES);
    while (at < text.len) {
        size_t start = at;
        while (at < text.len && !is_between(text.data[at]))
            at++;
        if (at > start &&
            !hosts_add_entry(
                hosts, (struct view){ text.data + start, at - start }, err))
            return false;
        if (at < text.len && text.data[at] == '#')
            while (at < text.len && text.data[at] != '\n')
                at++;
        at++;
    }
    return hosts->count > 0 ||
           err_set(err, ERR_REJECT, "bad_host", "no host is named");
}

/* ".example.com" covers example.com and a.example.com, not badexample.com: the
 * dot is part of what is compared. */
static bool covers(const struct host *entry, const char *name)
{
    size_t len = strlen(entry->name), whole = strlen(name);
    if (entry->name[0] != '.')
        return strcmp(entry->name, name) == 0;
    return strcmp(entry->name + 1, name) == 0 ||
           (whole > len && strcmp(name + whole - len, entry->name) == 0);
}

bool hosts_allow(const struct hosts *hosts, const char *name, uint16_t port)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const struct host *entry = &hosts->entries[i];
        bool fits =
            entry->port ? port == entry->port : port == 80 || port == 443;
        if (fits && covers(entry, name))
            return true;
    }
    return false;
}

void hosts_describe(const struct hosts *hosts, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < hosts->count; i++) {
        const struct host *entry = &hosts->entries[i];
        char port[8] = "", one[MAX_HOST_BYTES + 16];
        if (entry->port)
            snprintf(port, sizeof(port), ":%u", entry->port);
        snprintf(one, sizeof(one), strchr(entry->name, ':') ? "[%s]%s" : "%s%s",
                 entry->name, port);
        bool room = at + strlen(one) + sizeof(", ...") + 2 < size;
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "",
                               room ? one : "...");
        if (!room)
            return;
    }
}
