/* http_head.c - the head of a request, checked more strictly than llhttp does.
 */
#include "producer/gateway/http/http_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_LENGTH_DIGITS = 18 }; /* less than 2^63 */

static const char *const methods[HTTP_METHODS] = {
    [HTTP_METHOD_GET] = "GET",         [HTTP_METHOD_HEAD] = "HEAD",
    [HTTP_METHOD_POST] = "POST",       [HTTP_METHOD_PUT] = "PUT",
    [HTTP_METHOD_PATCH] = "PATCH",     [HTTP_METHOD_DELETE] = "DELETE",
    [HTTP_METHOD_OPTIONS] = "OPTIONS",
};

/* Fields that mean something only once: a second one is refused, since another
 * server may heed the other one. */
static const char *const single[] = {
    "authorization",
    "content-length",
    "content-type",
    "content-encoding",
    "expect",
    "from",
    "host",
    "if-modified-since",
    "last-event-id",
    "idempotency-key",
    "origin",
    "proxy-authorization",
    "range",
    "referer",
    "transfer-encoding",
    "user-agent",
    "if-unmodified-since",
};

const char *http_method_text(enum http_method_kind method)
{
    return methods[method];
}

static bool bad(struct err *err, const char *why)
{
    return err_set(err, ERR_REJECT, "invalid_request", "%s", why);
}

/* ---------------------------------------------------- bytes, as they come */

static bool head_allows(const struct http_head_scan *scan, unsigned char byte)
{
    if (scan->last == '\r' || byte == '\n')
        return scan->last == '\r' && byte == '\n';
    if (byte == '\r')
        return scan->lines > 0 || scan->line_bytes > 0;
    return byte >= ' ' ? byte != 0x7f : byte == '\t' && scan->lines > 0;
}

enum http_head_found http_head_scan(struct http_head_scan *scan,
                                    struct view bytes, size_t *used)
{
    for (*used = 0; *used < bytes.len; ++*used) {
        unsigned char byte = (unsigned char)bytes.data[*used];
        bool ends_line = byte == '\n', is_blank = scan->line_bytes == 0;
        if (!head_allows(scan, byte))
            return HTTP_HEAD_BAD;
        scan->last = byte;
        if (ends_line)
            scan->lines = 1;
        if (byte != '\r')
            scan->line_bytes = !ends_line;
        if (ends_line && is_blank) {
            ++*used;
            return HTTP_HEAD_WHOLE;
        }
    }
    return HTTP_HEAD_MORE;
}

/* ------------------------------------------------------------------- lines */

/* The next line, without its CRLF: http_head_scan() has seen that there is one.
 */
static struct view line_of(struct view *rest)
{
    const char *end = memchr(rest->data, '\r', rest->len);
    struct view line = { rest->data, (size_t)(end - rest->data) };

    rest->data += line.len + 2;
    rest->len -= line.len + 2;
    return line;
}

static struct view head_word(struct view *line)
{
    const char *at = line->len ? memchr(line->data, ' ', line->len) : NULL;
    struct view word = { line->data,
                         at ? (size_t)(at - line->data) : line->len };
    size_t used = at ? word.len + 1 : word.len;

    line->data += used;
    line->len -= used;
    return word;
}

static bool head_is_token(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.data[i];
        if (!((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
              (byte >= 'A' && byte <= 'Z') ||
              byte_is_of(byte, "!#$%&'*+-.^_`|~")))
            return false;
    }
    return text.len > 0;
}

static bool parse_method(struct http_head *head, struct view word,
                         struct err *err)
{
    for (int i = 0; i < HTTP_METHODS; i++)
        if (view_is(word, methods[i])) {
            head->method = (enum http_method_kind)i;
            return true;
        }
    if (!head_is_token(word))
        return bad(err, "the request line does not begin with a method");
    return err_set(err, ERR_REJECT, "invalid_method",
                   "the method \"%.*s\" is not one of GET, HEAD, POST, PUT, "
                   "PATCH, DELETE, OPTIONS",
                   (int)(word.len < 20 ? word.len : 20), word.data);
}

static bool parse_version(struct http_head *head, struct view word,
                          struct err *err)
{
    if (view_is(word, "HTTP/1.1") || view_is(word, "HTTP/1.0")) {
        head->minor = word.data[7] == '1';
        return true;
    }
    return bad(err, "the version of HTTP is not 1.0 or 1.1");
}

static bool parse_line(struct http_head *head, struct view line,
                       struct err *err)
{
    struct view method = head_word(&line);

    head->raw_target = head_word(&line);
    if (!parse_method(head, method, err))
        return false;
    if (head->raw_target.len == 0)
        return bad(err, "the request line has two blanks, or no target");
    return parse_version(head, line, err);
}

static bool parse_field(struct http_head *head, struct view line,
                        unsigned int *status, struct err *err)
{
    const char *colon = memchr(line.data, ':', line.len);
    struct view name = { line.data, colon ? (size_t)(colon - line.data) : 0 };

    if (head->field_count == HTTP_MAX_FIELDS) {
        *status = 431;
        return bad(err, "more than 100 fields in the head");
    }
    if (line.data[0] == ' ' || line.data[0] == '\t')
        return bad(err, "a folded line in the head");
    if (!head_is_token(name))
        return bad(err, "a line of the head has no name before a colon");
    struct view value = { colon + 1, line.len - name.len - 1 };
    head->fields[head->field_count++] =
        (struct http_field){ name, view_trimmed(value) };
    return true;
}

/* ------------------------------------------------------------------ fields */

bool http_head_value(const struct http_head *head, const char *name,
                     struct view *value, struct err *err)
{
    bool seen = false;

    *value = (struct view){ "", 0 };
    for (unsigned int i = 0; i < head->field_count; i++) {
        if (!view_is_caseless(head->fields[i].name, name))
            continue;
        if (seen)
            return err_set(err, ERR_REJECT, "invalid_request",
                           "the header %s is there twice", name);
        seen = true;
        *value = head->fields[i].value;
    }
    return true;
}

static bool has_field(const struct http_head *head, const char *name)
{
    for (unsigned int i = 0; i < head->field_count; i++)
        if (view_is_caseless(head->fields[i].name, name))
            return true;
    return false;
}

/* One of the comma-separated words of all fields of that name. */
static bool lists_word(const struct http_head *head, const char *name,
                       const char *word)
{
    for (unsigned int i = 0; i < head->field_count; i++) {
        struct view rest = head->fields[i].value;
        while (view_is_caseless(head->fields[i].name, name) && rest.len > 0) {
            const char *at = memchr(rest.data, ',', rest.len);
            size_t len = at ? (size_t)(at - rest.data) : rest.len;
            if (view_is_caseless(view_trimmed((struct view){ rest.data, len }),
                                 word))
                return true;
            len += at ? 1 : 0;
            rest.data += len;
            rest.len -= len;
        }
    }
    return false;
}

static bool read_length(struct http_head *head, struct view value,
                        struct err *err)
{
    if (value.len == 0 || value.len > MAX_LENGTH_DIGITS)
        return bad(err, "Content-Length is not a number of 1 to 18 digits");
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return bad(err, "Content-Length is not a number of 1 to 18 digits");
        head->length = head->length * 10 + (uint64_t)(value.data[i] - '0');
    }
    return head->has_length = true;
}

static bool read_framing(struct http_head *head, struct err *err)
{
    struct view value;

    if (has_field(head, "transfer-encoding")) {
        http_head_value(head, "transfer-encoding", &value, NULL);
        if (head->minor == 0 || !view_is_caseless(value, "chunked"))
            return bad(err, "Transfer-Encoding is not \"chunked\" in HTTP/1.1");
        if (has_field(head, "content-length"))
            return bad(err, "both Transfer-Encoding and Content-Length");
        head->is_chunked = true;
    } else if (has_field(head, "content-length")) {
        http_head_value(head, "content-length", &value, NULL);
        return read_length(head, value, err);
    }
    return true;
}

/* A name or an address in brackets, and perhaps a port: what RFC 3986 calls
 * host and port, without escapes. */
static bool is_host(struct view host)
{
    size_t i = 0;

    if (host.len > 0 && host.data[0] == '[') {
        for (i = 1; i < host.len && host.data[i] != ']'; i++)
            if (!byte_is_of(host.data[i], "0123456789abcdefABCDEF:."))
                return false;
        if (i++ == host.len)
            return false;
    } else {
        for (; i < host.len && host.data[i] != ':'; i++) {
            char byte = host.data[i];
            if (!head_is_token((struct view){ &byte, 1 }) ||
                byte_is_of(byte, "#%^`|"))
                return false;
        }
    }
    if (i == host.len)
        return i > 0;
    size_t digits = host.len - i - 1;
    for (size_t j = i + 1; j < host.len; j++)
        if (host.data[j] < '0' || host.data[j] > '9')
            return false;
    return i > 0 && host.data[i] == ':' && digits <= 5;
}

/* An absolute target (as for a proxy) must be of the host that Host names; what
 * follows is then its path. */
static bool head_read_target(struct http_head *head, struct err *err)
{
    struct view *target = &head->raw_target;
    struct view host;

    http_head_value(head, "host", &host, NULL);
    if ((host.len > 0 || head->minor == 1) && !is_host(host))
        return bad(err, "no Host, or one that is not a host");
    if (target->len > 7 && strncasecmp(target->data, "http://", 7) == 0) {
        struct view rest = { target->data + 7, target->len - 7 };
        if (rest.len <= host.len || rest.data[host.len] != '/' ||
            strncasecmp(rest.data, host.data, host.len) != 0 || host.len == 0)
            return bad(err, "the target is of another host than Host");
        *target = (struct view){ rest.data + host.len, rest.len - host.len };
    }
    if (view_is(*target, "*") && head->method != HTTP_METHOD_OPTIONS)
        return bad(err, "the target \"*\" is for OPTIONS alone");
    return true;
}

/* Upgrade is only an offer, which is not taken: RFC 9110, section 7.8. */
static bool read_connection(struct http_head *head, unsigned int *status,
                            struct err *err)
{
    struct view expect;

    head->keeps_alive = head->minor == 1
                            ? !lists_word(head, "connection", "close")
                            : lists_word(head, "connection", "keep-alive") &&
                                  !lists_word(head, "connection", "close");
    http_head_value(head, "expect", &expect, NULL);
    if (expect.len > 0 && !view_is_caseless(expect, "100-continue")) {
        *status = 417;
        return bad(err, "Expect is not \"100-continue\"");
    }
    head->expects_continue = expect.len > 0 && head->minor == 1;
    return true;
}

static bool read_fields(struct http_head *head, unsigned int *status,
                        struct err *err)
{
    struct view value;

    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        if (!http_head_value(head, single[i], &value, err))
            return false;
    return read_framing(head, err) && read_connection(head, status, err);
}

bool http_head_parse(struct http_head *head, struct view text,
                     unsigned int *status, struct err *err)
{
    struct view line;

    *status = 400;
    memset(head, 0, offsetof(struct http_head, fields));
    if (!parse_line(head, line_of(&text), err))
        return false;
    while ((line = line_of(&text)).len > 0)
        if (!parse_field(head, line, status, err))
            return false;
    return read_fields(head, status, err) && head_read_target(head, err);
}
