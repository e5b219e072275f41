/* request.c - the head of a request to a proxy, read strictly.
 *
 * Two passes: the first checks all lines and learns which headers concern only
 * this connection, the second copies the others. The head that the host gets is
 * written by us, never what came. */
#include "executor/proxy/request.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_METHOD_BYTES = 24,
    MAX_NOMINATIONS = 8,    /* Connection headers */
    MAX_LENGTH_DIGITS = 15, /* less than 2^63 */
};

/* What parse_headers() knows so far. */
struct head_reader {
    struct proxy_request *request;
    struct view nominated[MAX_NOMINATIONS]; /* values of Connection */
    size_t nominations;
    bool has_length;
    int *status;
    struct err *err;
};

static bool head_refuse(struct head_reader *reader, int status, const char *why)
{
    *reader->status = status;
    return err_set(reader->err, ERR_REJECT, "bad_request", "%s", why);
}

/* ------------------------------------------------------------------ bytes */

static bool is_token_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct view view)
{
    for (size_t i = 0; i < view.len; i++)
        if (!is_token_byte(view.data[i]))
            return false;
    return view.len > 0;
}

/* Visible ASCII: no space, no control, nothing that needs a coding. */
static bool is_visible(struct view view)
{
    for (size_t i = 0; i < view.len; i++)
        if (view.data[i] <= ' ' || view.data[i] >= 0x7f)
            return false;
    return view.len > 0;
}

static bool is_value(struct view view)
{
    for (size_t i = 0; i < view.len; i++) {
        unsigned char c = (unsigned char)view.data[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static struct view request_trimmed(struct view view)
{
    while (view.len && strchr(" \t", view.data[0]) && view.data[0])
        view.data++, view.len--;
    while (view.len && view.data[view.len - 1] &&
           strchr(" \t", view.data[view.len - 1]))
        view.len--;
    return view;
}

/* What stands before the separator; rest: what stands behind it. */
static bool request_cut_at(struct view *rest, const char *separator,
                           struct view *before)
{
    const char *at =
        rest->len ? memmem(rest->data, rest->len, separator, strlen(separator))
                  : NULL;
    if (!at)
        return false;
    *before = (struct view){ rest->data, (size_t)(at - rest->data) };
    rest->data = at + strlen(separator);
    rest->len -= before->len + strlen(separator);
    return true;
}

size_t request_head_bytes(struct view bytes)
{
    struct view before;
    return request_cut_at(&bytes, "\r\n\r\n", &before) ? before.len + 4 : 0;
}

/* ---------------------------------------------------------------- headers */

/* Not passed on: they concern this connection only (RFC 9110, 7.6.1), or are
 * written anew. A proxy- header may hold a password for us. */
static const char *const own[] = {
    "connection", "content-length", "host",    "keep-alive",
    "te",         "trailer",        "upgrade",
};

static bool is_own(struct view name)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (view_is_caseless(name, own[i]))
            return true;
    return name.len > 6 && strncasecmp(name.data, "proxy-", 6) == 0;
}

/* "Connection: a, b" names further headers that are for this connection only.
 */
static bool is_nominated(const struct head_reader *reader, struct view name)
{
    for (size_t i = 0; i < reader->nominations; i++) {
        struct view rest = reader->nominated[i], one;
        while (rest.len > 0) {
            if (!request_cut_at(&rest, ",", &one))
                one = rest, rest.len = 0;
            one = request_trimmed(one);
            if (one.len == name.len &&
                strncasecmp(one.data, name.data, one.len) == 0)
                return true;
        }
    }
    return false;
}

/* Twice, a sign, a blank or a list: servers differ in what they make of it. */
static bool read_length(struct head_reader *reader, struct view value)
{
    uint64_t length = 0;
    if (reader->has_length)
        return head_refuse(reader, 400, "Content-Length is there twice");
    reader->has_length = true;
    if (value.len == 0 || value.len > MAX_LENGTH_DIGITS)
        return head_refuse(reader, 400, "Content-Length is no number");
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return head_refuse(reader, 400, "Content-Length is no number");
        length = length * 10 + (uint64_t)(value.data[i] - '0');
    }
    if (!reader->request->tunnel)
        reader->request->body_bytes = length;
    return true;
}

/* "Name: value" */
static bool split(struct head_reader *reader, struct view line,
                  struct view *name, struct view *value)
{
    *name = (struct view){ 0 };
    *value = line;
    if (!request_cut_at(value, ":", name) || !is_token(*name))
        return head_refuse(reader, 400, "a header line is no \"Name: value\"");
    *value = request_trimmed(*value);
    return is_value(*value) ||
           head_refuse(reader, 400, "a header's value has control characters");
}

/* Headers that say how the rest is to be read. */
static bool look_at(struct head_reader *reader, struct view name,
                    struct view value)
{
    if (view_is_caseless(name, "content-length"))
        return read_length(reader, value);
    if (view_is_caseless(name, "transfer-encoding") && !reader->request->tunnel)
        return head_refuse(reader, 411,
                           "a body must come with its Content-Length, "
                           "not in chunks");
    if (!view_is_caseless(name, "connection"))
        return true;
    if (reader->nominations == MAX_NOMINATIONS)
        return head_refuse(reader, 400, "too many Connection headers");
    reader->nominated[reader->nominations++] = value;
    return true;
}

static bool parse_headers(struct head_reader *reader, struct view lines)
{
    struct view rest = lines, line, name, value;
    for (size_t count = 0; request_cut_at(&rest, "\r\n", &line) && line.len;
         count++) {
        if (count == MAX_HEADERS)
            return head_refuse(reader, 431, "more than 100 headers");
        if (!split(reader, line, &name, &value) ||
            !look_at(reader, name, value))
            return false;
    }
    return true;
}

static void copy_headers(struct head_reader *reader, struct view lines)
{
    struct buf *head = &reader->request->head;
    struct view line, name, value;
    while (request_cut_at(&lines, "\r\n", &line) && line.len) {
        split(reader, line, &name, &value);
        if (!is_own(name) && !is_nominated(reader, name))
            buf_printf(head, "%.*s: %.*s\r\n", VIEW_ARG(name), VIEW_ARG(value));
    }
}

/* --------------------------------------------------------- the first line */

struct first_line {
    struct view method, authority, path, version;
};

/* "http://authority/path" */
static bool split_target(struct head_reader *reader, struct view target,
                         struct first_line *first)
{
    static const char scheme[] = "http://";
    size_t len = strlen(scheme);
    if (target.len < len || strncasecmp(target.data, scheme, len) != 0)
        return head_refuse(reader, 400,
                           "this is a proxy: it takes CONNECT host:port, and "
                           "http:// addresses");
    first->authority = (struct view){ target.data + len, 0 };
    while (len + first->authority.len < target.len &&
           !byte_is_of(target.data[len + first->authority.len], "/?#"))
        first->authority.len++;
    size_t at = len + first->authority.len;
    first->path = (struct view){ target.data + at, target.len - at };
    return !memchr(target.data, '#', target.len) ||
           head_refuse(reader, 400, "an address has no # in a request");
}

static bool split_first(struct head_reader *reader, struct view line,
                        struct first_line *first)
{
    struct view target;
    first->version = line;
    if (!request_cut_at(&first->version, " ", &first->method) ||
        !request_cut_at(&first->version, " ", &target) ||
        !is_token(first->method) || first->method.len > MAX_METHOD_BYTES ||
        !is_visible(target))
        return head_refuse(reader, 400, "the first line is no request");
    if (!view_is(first->version, "HTTP/1.1") &&
        !view_is(first->version, "HTTP/1.0"))
        return head_refuse(reader, 505, "HTTP/1.1 and HTTP/1.0 only");
    reader->request->tunnel = view_is(first->method, "CONNECT");
    first->authority = target;
    return reader->request->tunnel || split_target(reader, target, first);
}

static bool parse_first(struct head_reader *reader, struct view line,
                        struct first_line *first)
{
    struct proxy_request *request = reader->request;
    if (!split_first(reader, line, first))
        return false;
    if (first->authority.len > 0 &&
        memchr(first->authority.data, '@', first->authority.len))
        return head_refuse(reader, 400, "no user or password before the host");
    request->port = request->tunnel ? 0 : 80;
    if (!host_parse(first->authority, request->host, &request->port,
                    reader->err)) {
        *reader->status = 400;
        return false;
    }
    return request->port ||
           head_refuse(reader, 400, "CONNECT needs host and port");
}

/* Host is the one that was checked, whatever a Host header claimed. The
 * connection ends with the response, so no second request can follow. */
static void write_head(struct head_reader *reader,
                       const struct first_line *first, struct view lines)
{
    struct proxy_request *request = reader->request;
    struct buf *head = &request->head;
    struct view path = first->path;
    bool six = strchr(request->host, ':');
    buf_printf(head, "%.*s %s%.*s %.*s\r\n", VIEW_ARG(first->method),
               view_starts(path, "/") ? "" : "/", VIEW_ARG(path),
               VIEW_ARG(first->version));
    buf_printf(head, six ? "Host: [%s]" : "Host: %s", request->host);
    if (request->port != 80)
        buf_printf(head, ":%u", request->port);
    buf_printf(head, "\r\n");
    copy_headers(reader, lines);
    if (reader->has_length)
        buf_printf(head, "Content-Length: %llu\r\n",
                   (unsigned long long)request->body_bytes);
    buf_printf(head, "Connection: close\r\n\r\n");
    assert(buf_ok(head)); /* it is hardly longer than what came */
}

/* NOLINTNEXTLINE(readability-non-const-parameter): head_refuse() writes it */
bool request_parse(struct proxy_request *request, struct view head, int *status,
                   struct err *err)
{
    struct head_reader reader = {
        .request = request,
        .status = status,
        .err = err,
    };
    struct first_line first = { 0 };
    struct view lines = head, line = { 0 };
    *request = (struct proxy_request){ 0 };
    buf_init(&request->head, MAX_OPENING_BYTES);
    request_cut_at(&lines, "\r\n", &line);
    if (!parse_first(&reader, line, &first) || !parse_headers(&reader, lines))
        return false;
    if (!request->tunnel)
        write_head(&reader, &first, lines);
    return true;
}

void request_finish(struct proxy_request *request)
{
    buf_finish(&request->head);
}
