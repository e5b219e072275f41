/* address.c - where Redis is, and the login there, read from one URL.
 *
 * Error sentences name the part that is wrong, and never quote the URL: it may
 * hold a password. */
#include "schemas/redis/address.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "schemas/redis/wire.h"

enum { MAX_PORT = 65535, MAX_DB = 65535 };

static bool wrong(struct err *err, const char *text)
{
    return err_set(err, ERR_REJECT, "bad_setting", "Redis URL: %s", text);
}

/* Cuts what stands before the first of the characters off view; what is left
 * begins with that character, or is empty. */
static struct view address_cut(struct view *view, const char *stop)
{
    struct view head = { view->data, 0 };

    while (head.len < view->len && !byte_is_of(view->data[head.len], stop))
        head.len++;
    view->data += head.len;
    view->len -= head.len;
    return head;
}

static struct view address_skip(struct view view, size_t len)
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

/* Percent-decoded, on the heap. NULL when it is not well-formed, or has a NUL
 * in it: the C string would end there, and so would a password. */
static char *decode(struct view text)
{
    char *out = calloc(1, text.len + 1);
    size_t len = 0;

    if (!out)
        abort();
    for (size_t i = 0; i < text.len; i++) {
        int c = (unsigned char)text.data[i];
        if (c == '%' && i + 2 < text.len) {
            int high = byte_hex(text.data[i + 1]);
            int low = byte_hex(text.data[i + 2]);
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
    struct view user = address_cut(&login, ":");
    struct view password = login.len > 0 ? address_skip(login, 1) : login;

    if (user.len > 0 && password.len == 0)
        return wrong(err, "a user without a password; a password without a "
                          "user is written :password@");
    if (user.len > 0 && !(address->user = decode(user)))
        return wrong(err, "the user is not percent-encoded text");
    if (password.len > 0 && !(address->password = decode(password)))
        return wrong(err, "the password is not percent-encoded text");
    return true;
}

/* Letters, digits and those others. */
static bool is_of(struct view text, const char *others)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!isalnum((unsigned char)c) && (c == '\0' || !strchr(others, c)))
            return false;
    }
    return true;
}

/* host or [::1]; the port is what is left. */
static bool parse_host(struct node *node, struct view *text, struct err *err)
{
    bool is_ipv6 = text->len > 0 && text->data[0] == '[';
    struct view host;

    if (is_ipv6)
        *text = address_skip(*text, 1);
    host = address_cut(text, is_ipv6 ? "]" : ":");
    if (is_ipv6 && (text->len == 0 || host.len == 0))
        return wrong(err, "an IPv6 address is written [::1]");
    if (is_ipv6)
        *text = address_skip(*text, 1);
    if (!is_of(host, "._-:%"))
        return wrong(err, "the host has a character that no host has");
    if (host.len > NODE_MAX_HOST)
        return wrong(err, "the host has more than 253 bytes");
    memcpy(node->host, host.data, host.len);
    node->host[host.len] = '\0';
    return true;
}

/* host, host:port, [::1]:port; each may be absent. */
static bool parse_node(struct node *node, struct view text, int port,
                       struct err *err)
{
    if (!parse_host(node, &text, err))
        return false;
    node->port = port;
    if (text.len > 0 &&
        (text.data[0] != ':' ||
         !parse_number(address_skip(text, 1), MAX_PORT, &node->port) ||
         node->port == 0))
        return wrong(err, "the port must be 1 to 65535");
    return true;
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory)
        abort();
    return memory;
}

/* One host, which may be left out; or several, which may not. */
static bool parse_nodes(struct address *address, struct view text,
                        struct err *err)
{
    static const int ports[] = { 6379, 26379, 6379 };
    bool one = address->kind == ADDRESS_SERVER;

    if (one && memchr(text.data, ',', text.len))
        return wrong(err, "several hosts belong to redis+sentinel:// or "
                          "redis+cluster://");
    address->nodes =
        allocate(one ? 1 : ADDRESS_MAX_NODES, sizeof(*address->nodes));
    for (bool more = true; more; address->node_count++) {
        struct node *node = &address->nodes[address->node_count];
        struct view host = address_cut(&text, ",");
        more = text.len > 0;
        if (more)
            text = address_skip(text, 1);
        if (more && address->node_count + 1 == ADDRESS_MAX_NODES)
            return wrong(err, "more than 32 hosts");
        if (!parse_node(node, host, ports[address->kind], err))
            return false;
        if (!node->host[0] && !one)
            return wrong(err, "a host is missing: write host:port,host:port");
        if (!node->host[0])
            memcpy(node->host, "127.0.0.1", sizeof("127.0.0.1"));
    }
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
    query = address_skip(query, 1);
    if (!view_starts(query, "db="))
        return wrong(err, "after the ? only db=NUMBER is understood");
    return parse_db(address, address_skip(query, 3), err);
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
    address->nodes = allocate(1, sizeof(*address->nodes));
    address->node_count = 1;
    return true;
}

/* The name that sentinels have for their master, before the database. */
static bool parse_master(struct address *address, struct view *path,
                         struct err *err)
{
    struct view name;

    *path = path->len > 0 ? address_skip(*path, 1) : *path;
    name = address_cut(path, "/");
    if (!is_of(name, "._-"))
        return wrong(err, "the master's name has a character other than "
                          "A-Z a-z 0-9 . _ -");
    if (name.len > ADDRESS_MAX_MASTER)
        return wrong(err, "the master's name has more than 127 bytes");
    if (name.len == 0)
        return wrong(err, "after the sentinels comes the name of their "
                          "master: redis+sentinel://host:26379/mymaster");
    address->master = view_dup(name);
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
        authority = address_skip(authority, at + 1);
    }
    if (address->kind == ADDRESS_SENTINEL && !parse_master(address, &path, err))
        return false;
    if (path.len > 1 && !parse_db(address, address_skip(path, 1), err))
        return false;
    if (address->kind == ADDRESS_CLUSTER && address->db != 0)
        return wrong(err, "a cluster has database 0 and no other");
    return parse_nodes(address, authority, err);
}

static const struct scheme {
    const char *name;
    enum address_kind kind;
    bool tls;
    bool is_unix;
} schemes[] = {
    { "redis://", ADDRESS_SERVER, false, false },
    { "rediss://", ADDRESS_SERVER, true, false },
    { "unix://", ADDRESS_SERVER, false, true },
    { "redis+unix://", ADDRESS_SERVER, false, true },
    { "redis+socket://", ADDRESS_SERVER, false, true },
    { "redis+sentinel://", ADDRESS_SENTINEL, false, false },
    { "rediss+sentinel://", ADDRESS_SENTINEL, true, false },
    { "redis+cluster://", ADDRESS_CLUSTER, false, false },
    { "rediss+cluster://", ADDRESS_CLUSTER, true, false },
    { "", ADDRESS_SERVER, false, false },
};

/* Cuts the scheme off. The short forms have none: a path means a socket,
 * anything else a host. The last row, an empty name, matches every URL. */
static const struct scheme *cut_scheme(struct view *url)
{
    static const struct scheme path = { "", ADDRESS_SERVER, false, true };
    const struct scheme *scheme = schemes;

    if (url->len > 0 && url->data[0] == '/')
        return &path;
    while (url->len < strlen(scheme->name) ||
           strncasecmp(url->data, scheme->name, strlen(scheme->name)) != 0)
        scheme++;
    *url = address_skip(*url, strlen(scheme->name));
    return scheme;
}

static bool address_parse_url(struct address *address, struct view url,
                              struct err *err)
{
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.data[i] <= ' ' || url.data[i] == 0x7f)
            return wrong(err, "it has a space or a control character; write "
                              "it percent-encoded");
    const struct scheme *scheme = cut_scheme(&url);
    if (memmem(url.data, url.len, "://", 3))
        return wrong(err, "it must begin with redis://, unix://, "
                          "redis+sentinel:// or redis+cluster://; with TLS, "
                          "rediss in place of redis");
    if (scheme->tls && !tls_available())
        return wrong(err,
                     "TLS needs hiredis 1.0 or later with TLS, which "
                     "this build lacks: build on Debian 13 (libhiredis-dev "
                     "1.2), or let a TLS proxy such as stunnel listen on "
                     "this host and name that one");

    struct view authority = address_cut(&url, "/?");
    struct view path = address_cut(&url, "?");
    address->kind = scheme->kind;
    address->tls = scheme->tls;
    if (!parse_query(address, url, err))
        return false;
    return scheme->is_unix ? parse_unix(address, authority, path, err)
                           : parse_tcp(address, authority, path, err);
}

bool address_parse(struct address *address, struct view url, struct err *err)
{
    *address = (struct address){ 0 };
    if (address_parse_url(address, url.data ? url : VIEW(""), err))
        return true;
    address_finish(address);
    return false;
}

static char *address_copy_text(const char *text)
{
    return text ? view_dup(view_of(text)) : NULL;
}

void address_set_sentinel_password(struct address *address,
                                   const char *password)
{
    free(address->sentinel_password);
    address->sentinel_password =
        password && *password ? address_copy_text(password) : NULL;
}

static struct address_tls address_copy_tls(const struct address_tls *from)
{
    return (struct address_tls){
        .ca = address_copy_text(from->ca),
        .certificate = address_copy_text(from->certificate),
        .key = address_copy_text(from->key),
        .server_name = address_copy_text(from->server_name),
    };
}

static void address_finish_tls(struct address_tls *files)
{
    free(files->ca);
    free(files->certificate);
    free(files->key);
    free(files->server_name);
    *files = (struct address_tls){ 0 };
}

struct address_tls address_tls_of_environment(void)
{
    return (struct address_tls){
        .ca = getenv("QUERN_REDIS_TLS_CA"),
        .certificate = getenv("QUERN_REDIS_TLS_CERTIFICATE"),
        .key = getenv("QUERN_REDIS_TLS_KEY"),
        .server_name = getenv("QUERN_REDIS_TLS_SERVER_NAME"),
    };
}

static char *given_or_null(char *text)
{
    return text && *text ? text : NULL;
}

static bool no_tls(struct err *err, const char *text)
{
    return err_set(err, ERR_REJECT, "bad_setting", "Redis TLS: %s", text);
}

bool address_set_tls(struct address *address, const struct address_tls *given,
                     struct err *err)
{
    const struct address_tls files = {
        .ca = given_or_null(given->ca),
        .certificate = given_or_null(given->certificate),
        .key = given_or_null(given->key),
        .server_name = given_or_null(given->server_name),
    };
    bool any = files.ca || files.certificate || files.key || files.server_name;

    if (any && !address->tls)
        return no_tls(err, "there are settings of it, but the URL begins with "
                           "redis: or unix:, so nothing would be encrypted; "
                           "write rediss:");
    if (files.certificate && !files.key)
        return no_tls(err, "a certificate without its key (redis-tls-key)");
    if (files.key && !files.certificate)
        return no_tls(err, "a key without its certificate "
                           "(redis-tls-certificate)");
    address_finish_tls(&address->files);
    address->files = address_copy_tls(&files);
    return true;
}

bool address_check_tls(const struct address *address, struct err *err)
{
    return !address->tls || tls_check(&address->files, err);
}

void address_copy(struct address *to, const struct address *from)
{
    *to = *from;
    to->path = address_copy_text(from->path);
    to->nodes = allocate(from->node_count, sizeof(*to->nodes));
    memcpy(to->nodes, from->nodes, from->node_count * sizeof(*to->nodes));
    to->master = address_copy_text(from->master);
    to->user = address_copy_text(from->user);
    to->password = address_copy_text(from->password);
    to->sentinel_password = address_copy_text(from->sentinel_password);
    to->files = address_copy_tls(&from->files);
}

bool address_of_sentinels(struct address *to, const struct address *from)
{
    *to = (struct address){ .kind = ADDRESS_SERVER, .tls = from->tls };
    if (from->kind != ADDRESS_SENTINEL)
        return false;
    to->nodes = allocate(from->node_count, sizeof(*to->nodes));
    to->node_count = from->node_count;
    memcpy(to->nodes, from->nodes, from->node_count * sizeof(*to->nodes));
    to->password = address_copy_text(from->sentinel_password);
    to->files = address_copy_tls(&from->files);
    return true;
}

static void address_forget_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void address_finish(struct address *address)
{
    if (!address)
        return;
    free(address->path);
    free(address->nodes);
    free(address->master);
    free(address->user);
    address_finish_tls(&address->files);
    address_forget_secret(address->password);
    address_forget_secret(address->sentinel_password);
    *address = (struct address){ 0 };
}

/* Appends; what does not fit is left out. */
__attribute__((format(printf, 3, 4))) static void
address_append(char *text, size_t size, const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + len, size - len, format, args);
    va_end(args);
}

static void append_node(char *text, size_t size, const struct node *node)
{
    bool is_ipv6 = strchr(node->host, ':');

    address_append(text, size, is_ipv6 ? "[%s]:%d" : "%s:%d", node->host,
                   node->port);
}

bool node_set(struct node *node, struct view host, uint64_t port)
{
    if (host.len == 0 || host.len > NODE_MAX_HOST || !is_of(host, "._-:%") ||
        port == 0 || port > MAX_PORT)
        return false;
    memcpy(node->host, host.data, host.len);
    node->host[host.len] = '\0';
    node->port = (int)port;
    return true;
}

void node_print(const struct node *node, char *text, size_t size)
{
    text[0] = '\0';
    append_node(text, size, node);
}

void address_print(const struct address *address, char *text, size_t size)
{
    static const char *const kinds[] = { "", "+sentinel", "+cluster" };
    const char *user = address->user ? address->user : "";
    const char *at = address->user ? "@" : "";

    text[0] = '\0';
    if (address->path) {
        address_append(text, size, "unix://%s%s%s?db=%d", user, at,
                       address->path, address->db);
        return;
    }
    address_append(text, size, "redis%s%s://%s%s", address->tls ? "s" : "",
                   kinds[address->kind], user, at);
    for (size_t i = 0; i < address->node_count; i++) {
        address_append(text, size, "%s", i > 0 ? "," : "");
        append_node(text, size, &address->nodes[i]);
    }
    if (address->master)
        address_append(text, size, "/%s", address->master);
    if (address->kind != ADDRESS_CLUSTER)
        address_append(text, size, "/%d", address->db);
}

void address_without_login(struct address *to, const struct address *from)
{
    address_copy(to, from);
    address_forget_secret(to->user);
    address_forget_secret(to->password);
    to->user = NULL;
    to->password = NULL;
}

bool address_check(const char *url, struct err *err)
{
    struct address address = { 0 };
    bool is_good = address_parse(&address, view_of(url), err);

    address_finish(&address);
    return is_good;
}
