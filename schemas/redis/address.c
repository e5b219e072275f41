/* address.c - where Redis is and who we are there, from one URL.
 *
 * Messages name the part that is wrong, never the whole URL: it may hold a
 * password. */
#include "schemas/redis/address.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "schemas/redis/wire.h"

enum { DEFAULT_PORT = 6379, MAX_PORT = 65535, MAX_DB = 65535, MAX_HOST = 253 };

static bool wrong(struct err *err, const char *text)
{
    return err_set(err, ERR_REJECT, "bad_setting", "Redis URL: %s", text);
}

/* Cuts what stands before the first of the characters off view; what is left
 * begins with that character, or is empty. */
static struct view cut(struct view *view, const char *stop)
{
    struct view head = { view->data, 0 };

    while (head.len < view->len && !strchr(stop, view->data[head.len]))
        head.len++;
    view->data += head.len;
    view->len -= head.len;
    return head;
}

static struct view skip(struct view view, size_t len)
{
    return (struct view){ view.data + len, view.len - len };
}

/* The place of the last such character, or the length. */
static size_t last(struct view view, char what)
{
    for (size_t i = view.len; i > 0; i--)
        if (view.data[i - 1] == what)
            return i - 1;
    return view.len;
}

static bool parse_number(struct view digits, int max, int *out)
{
    int number = 0;

    if (digits.len == 0 || digits.len > 5)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (!isdigit((unsigned char)digits.data[i]))
            return false;
        number = number * 10 + (digits.data[i] - '0');
    }
    *out = number;
    return number <= max;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return found ? (int)(found - digits) : -1;
}

/* Percent-decoded, on the heap; NULL when it is not well-formed. */
static char *decode(struct view text)
{
    char *out = calloc(1, text.len + 1);
    size_t len = 0;

    if (!out)
        abort();
    for (size_t i = 0; i < text.len; i++) {
        int c = (unsigned char)text.data[i];
        if (c == '%' && i + 2 < text.len) {
            int high = hex_digit(text.data[i + 1]);
            int low = hex_digit(text.data[i + 2]);
            c = high < 0 || low < 0 ? '\0' : high * 16 + low;
            i += 2;
        } else if (c == '%') {
            c = '\0';
        }
        if (c == '\0') {
            free(out);
            return NULL;
        }
        out[len++] = (char)c;
    }
    return out;
}

/* user:password, each percent-encoded; the user may be empty. */
static bool parse_login(struct address *address, struct view login,
                        struct err *err)
{
    struct view user = cut(&login, ":");
    struct view password = login.len > 0 ? skip(login, 1) : login;

    if (user.len > 0 && password.len == 0)
        return wrong(err, "a user without a password; a password without a "
                          "user is written :password@");
    if (user.len > 0 && !(address->user = decode(user)))
        return wrong(err, "the user is not percent-encoded text");
    if (password.len > 0 && !(address->password = decode(password)))
        return wrong(err, "the password is not percent-encoded text");
    return true;
}

/* host, host:port, [::1]:port; each may be absent. */
static bool parse_host(struct address *address, struct view text,
                       struct err *err)
{
    struct view host;

    if (text.len > 0 && text.data[0] == '[') {
        text = skip(text, 1);
        host = cut(&text, "]");
        if (text.len == 0 || host.len == 0)
            return wrong(err, "an IPv6 address is written [::1]");
        text = skip(text, 1);
    } else {
        host = cut(&text, ":");
    }
    for (size_t i = 0; i < host.len; i++)
        if (!isalnum((unsigned char)host.data[i]) &&
            !strchr("._-:%", host.data[i]))
            return wrong(err, "the host has a character that no host has");
    if (host.len > MAX_HOST)
        return wrong(err, "the host has more than 253 bytes");
    address->port = DEFAULT_PORT;
    if (text.len > 0 &&
        (text.data[0] != ':' ||
         !parse_number(skip(text, 1), MAX_PORT, &address->port) ||
         address->port == 0))
        return wrong(err, "the port must be 1 to 65535");
    address->host = view_dup(host.len > 0 ? host : VIEW("127.0.0.1"));
    return true;
}

static bool parse_db(struct address *address, struct view digits,
                     struct err *err)
{
    if (!parse_number(digits, MAX_DB, &address->db))
        return wrong(err, "the database must be a number, 0 to 65535");
    return true;
}

static bool parse_query(struct address *address, struct view query,
                        struct err *err)
{
    if (query.len <= 1)
        return true;
    query = skip(query, 1);
    if (!view_starts(query, "db="))
        return wrong(err, "after the ? only db=NUMBER is understood");
    return parse_db(address, skip(query, 3), err);
}

static bool parse_unix(struct address *address, struct view authority,
                       struct view path, struct err *err)
{
    if (authority.len > 0 && authority.data[authority.len - 1] != '@')
        return wrong(err, "the socket's path must begin with /");
    if (authority.len > 0) {
        authority.len--;
        if (!parse_login(address, authority, err))
            return false;
    }
    address->path = path.len > 1 ? decode(path) : NULL;
    if (!address->path)
        return wrong(err, "the socket's path is missing or not "
                          "percent-encoded text");
    if (strlen(address->path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return wrong(err, "the socket's path has more than 107 bytes");
    return true;
}

static bool parse_tcp(struct address *address, struct view authority,
                      struct view path, struct err *err)
{
    size_t at = last(authority, '@');

    if (at < authority.len) {
        struct view login = { authority.data, at };
        if (!parse_login(address, login, err))
            return false;
        authority = skip(authority, at + 1);
    }
    if (path.len > 1 && !parse_db(address, skip(path, 1), err))
        return false;
    return parse_host(address, authority, err);
}

static const struct scheme {
    const char *name;
    bool tls;
    bool is_unix;
} schemes[] = {
    { "redis://", false, false },       { "rediss://", true, false },
    { "unix://", false, true },         { "redis+unix://", false, true },
    { "redis+socket://", false, true }, { "", false, false },
};

/* The short forms have none: a path is a socket, else it is a host. */
static const struct scheme *cut_scheme(struct view *url)
{
    static const struct scheme path = { "", false, true };
    const struct scheme *scheme = schemes;

    if (url->len > 0 && url->data[0] == '/')
        return &path;
    while (url->len < strlen(scheme->name) ||
           strncasecmp(url->data, scheme->name, strlen(scheme->name)) != 0)
        scheme++;
    *url = skip(*url, strlen(scheme->name));
    return scheme;
}

static bool parse(struct address *address, struct view url, struct err *err)
{
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
            return wrong(err, "it has a space or a control character; write "
                              "it percent-encoded");
    const struct scheme *scheme = cut_scheme(&url);
    if (memmem(url.data, url.len, "://", 3))
        return wrong(err, "it must begin with redis://, rediss:// or unix://");
    if (scheme->tls && !tls_available())
        return wrong(err, "rediss:// needs hiredis 1.0 or later with TLS, "
                          "which this build lacks; use a unix socket or a TLS "
                          "proxy such as stunnel");

    struct view authority = cut(&url, "/?");
    struct view path = cut(&url, "?");
    address->tls = scheme->tls;
    if (!parse_query(address, url, err))
        return false;
    return scheme->is_unix ? parse_unix(address, authority, path, err)
                           : parse_tcp(address, authority, path, err);
}

bool address_parse(struct address *address, struct view url, struct err *err)
{
    *address = (struct address){ 0 };
    if (parse(address, url.data ? url : VIEW(""), err))
        return true;
    address_finish(address);
    return false;
}

static char *copy_text(const char *text)
{
    return text ? view_dup(view_of(text)) : NULL;
}

void address_copy(struct address *to, const struct address *from)
{
    *to = *from;
    to->path = copy_text(from->path);
    to->host = copy_text(from->host);
    to->user = copy_text(from->user);
    to->password = copy_text(from->password);
}

void address_finish(struct address *address)
{
    if (!address)
        return;
    free(address->path);
    free(address->host);
    free(address->user);
    if (address->password)
        explicit_bzero(address->password, strlen(address->password));
    free(address->password);
    *address = (struct address){ 0 };
}

void address_print(const struct address *address, char *text, size_t size)
{
    const char *user = address->user ? address->user : "";
    const char *at = address->user ? "@" : "";
    bool is_ipv6 = address->host && strchr(address->host, ':');

    if (address->path)
        snprintf(text, size, "unix://%s%s%s?db=%d", user, at, address->path,
                 address->db);
    else
        snprintf(text, size,
                 is_ipv6 ? "%s://%s%s[%s]:%d/%d" : "%s://%s%s%s:%d/%d",
                 address->tls ? "rediss" : "redis", user, at, address->host,
                 address->port, address->db);
}
