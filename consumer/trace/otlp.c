/* otlp.c - requests to a collector, and its answers. */
#include "consumer/trace/otlp.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "consumer/model/secret.h"
#include "consumer/trace/names.h"

enum {
    MAX_PAIR_BYTES = 8 << 10,        /* of a header, or an attribute */
    MAX_ATTRIBUTES_BYTES = 64 << 10, /* of all of them */
    MAX_HEAD_BYTES = 1 << 20,        /* more than these can take, in JSON */
};

/* ------------------------------------------------------- lists of k=v,k=v */

/* Appends the text with each %XX in it decoded. False: it has a % that begins
 * none. */
static bool decode(struct buf *out, struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '%') {
            int high = i + 2 < text.len ? byte_hex(text.data[i + 1]) : -1;
            int low = i + 2 < text.len ? byte_hex(text.data[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        buf_append(out, &c, 1);
    }
    return buf_ok(out);
}

struct pair_of {
    struct view name;
    struct buf value; /* decoded */
};

/* The next pair of the list. False: there is none, or err says what is wrong
 * with it. */
static bool next_pair(const char **rest, struct pair_of *pair, struct err *err)
{
    *rest += strspn(*rest, ", \t");
    struct view text = { *rest, strcspn(*rest, ",") };
    const char *equals = memchr(text.data, '=', text.len);
    *rest += text.len;
    if (text.len == 0)
        return false;
    pair->name = (struct view){ text.data, equals ? (size_t)(equals - text.data)
                                                  : text.len };
    pair->name = view_trimmed(pair->name);
    buf_clear(&pair->value);
    struct view value = { 0 };
    if (equals)
        value = view_trimmed((struct view){
            equals + 1, text.len - (size_t)(equals + 1 - text.data) });
    if (!equals || pair->name.len == 0)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "must be NAME=VALUE,NAME=VALUE; a part has no name or "
                       "no \"=\"");
    return decode(&pair->value, value) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "the value of %.*s must have two hexadecimal digits behind "
                   "each %%, and at most %d bytes",
                   VIEW_ARG(view_head(pair->name, 64)), MAX_PAIR_BYTES);
}

/* ----------------------------------------------------------------- headers */

static bool is_header_name(struct view name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] <= ' ' || name.data[i] > '~' ||
            byte_is_of(name.data[i], "\"(),/:;<=>?@[\\]{}"))
            return false;
    return true;
}

static bool is_header_value(struct view value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < ' ' || value.data[i] > '~')
            return false;
    return true;
}

static void otlp_add_header(struct otlp *otlp, struct view name,
                            struct view value)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, name.len + value.len + 2);
    buf_printf(&line, "%.*s: %.*s", VIEW_ARG(name), VIEW_ARG(value));
    otlp->headers[otlp->header_count++] = view_dup(buf_view(&line));
}

static bool read_headers(struct otlp *otlp, const char *text, struct err *err)
{
    struct pair_of pair;
    struct err why = { 0 };
    buf_init(&pair.value, MAX_PAIR_BYTES);
    while (why.kind == ERR_NONE && next_pair(&text, &pair, &why)) {
        struct view value = buf_view(&pair.value);
        if (otlp->header_count == OTLP_MAX_HEADERS)
            err_set(&why, ERR_REJECT, "bad_setting", "has more than %d headers",
                    OTLP_MAX_HEADERS);
        else if (!is_header_name(pair.name) || !is_header_value(value))
            err_set(&why, ERR_REJECT, "bad_setting",
                    "%.*s is not a header: its name or its value has "
                    "characters that no header may have",
                    VIEW_ARG(view_head(pair.name, 64)));
        else
            otlp_add_header(otlp, pair.name, value);
    }
    buf_finish(&pair.value);
    if (why.kind != ERR_NONE && err)
        *err = why;
    return why.kind == ERR_NONE;
}

bool otlp_check_headers(const char *text, struct err *err)
{
    struct otlp otlp = { 0 };
    bool good = read_headers(&otlp, text, err);
    otlp_finish(&otlp);
    return good;
}

/* --------------------------------------------------------------------- url */

/* A collector's own URL is taken as it is, a general one is a base. */
static char *url_of(const struct trace_settings *settings)
{
    CLEANUP(buf_finish) struct buf url = { 0 };
    struct view base = view_of(settings->endpoint);
    if (*settings->traces_endpoint != '\0')
        return view_dup(view_of(settings->traces_endpoint));
    if (base.len == 0)
        return NULL;
    while (base.len > 0 && base.data[base.len - 1] == '/')
        base.len--;
    buf_init(&url, base.len + 16);
    buf_add(&url, base);
    buf_add(&url, VIEW("/v1/traces"));
    return view_dup(buf_view(&url));
}

bool otlp_check_url(const char *text, struct err *err)
{
    struct view url = view_of(text);
    return view_starts_caseless(url, "http://") ||
           view_starts_caseless(url, "https://") ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must be a URL that begins with http:// or https://");
}

void otlp_place(const struct otlp *otlp, struct buf *out)
{
    const char *host = strstr(otlp->url, "://") + 3;
    const char *slash = host + strcspn(host, "/?#"), *at = NULL;
    for (const char *c = host; c < slash; c++)
        at = *c == '@' ? c : at;
    buf_append(out, otlp->url, (size_t)(host - otlp->url));
    host = at ? at + 1 : host;
    buf_append(out, host, strcspn(host, "?#"));
}

/* ---------------------------------------------------------------- resource */

/* name, value: UTF-8. The last one of a name counts. */
static void set_attribute(json_t *attributes, const char *name,
                          struct view value)
{
    json_object_set_new(attributes, name, json_stringn(value.data, value.len));
}

/* attributes: an object of texts, which the list adds to. */
static bool read_attributes(json_t *attributes, const char *list,
                            struct err *err)
{
    struct pair_of pair;
    struct err why = { 0 };
    if (strlen(list) > MAX_ATTRIBUTES_BYTES)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "must have at most %d bytes", MAX_ATTRIBUTES_BYTES);
    buf_init(&pair.value, MAX_PAIR_BYTES);
    for (size_t i = 0; why.kind == ERR_NONE && next_pair(&list, &pair, &why);
         i++) {
        CLEANUP(cleanup_free) char *name = view_dup(pair.name);
        if (!view_is_utf8(buf_view(&pair.value)) || !view_is_utf8(pair.name))
            err_set(&why, ERR_REJECT, "bad_setting", "must be UTF-8");
        else if (i == OTLP_MAX_ATTRIBUTES)
            err_set(&why, ERR_REJECT, "bad_setting",
                    "has more than %d attributes", OTLP_MAX_ATTRIBUTES);
        else
            set_attribute(attributes, name, buf_view(&pair.value));
    }
    buf_finish(&pair.value);
    if (why.kind != ERR_NONE)
        *err = why;
    return why.kind == ERR_NONE;
}

bool otlp_check_attributes(const char *text, struct err *err)
{
    json_t *attributes = json_object();
    bool good = read_attributes(attributes, text, err);
    json_decref(attributes);
    return good;
}

/* [{"key", "value": {"stringValue"}}, ...] on the heap. What the operator says
 * of this process counts more than what we know of it. */
static char *resource_text(const struct trace_settings *settings,
                           const char *instance)
{
    json_t *attributes = json_object(), *all = json_array(), *value;
    const char *name;
    struct err err; /* the list was checked */
    char host[65] = "";
    gethostname(host, sizeof(host) - 1);
    set_attribute(attributes, "service.name", VIEW("quern-consumer"));
    set_attribute(attributes, "service.instance.id", view_of(instance));
    set_attribute(attributes, "service.version", VIEW(QUERN_VERSION));
    set_attribute(attributes, "host.name", view_of(host));
    read_attributes(attributes, settings->resource, &err);
    if (*settings->service != '\0')
        set_attribute(attributes, "service.name", view_of(settings->service));
    json_object_foreach(attributes, name, value)
        json_array_append_new(all, json_pack("{s:s, s:{s:O}}", "key", name,
                                             "value", "stringValue", value));
    char *text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    json_decref(attributes);
    if (!text)
        abort();
    return text;
}

/* {"resourceSpans":[{"resource":...,"scopeSpans":[{"scope":...,"spans":[ */
static void write_head(struct otlp *otlp, const struct trace_settings *settings,
                       const char *instance)
{
    CLEANUP(cleanup_free) char *resource = resource_text(settings, instance);
    buf_init(&otlp->head, MAX_HEAD_BYTES);
    buf_printf(&otlp->head,
               "{\"resourceSpans\":[{\"resource\":{\"attributes\":%s},"
               "\"scopeSpans\":[{\"scope\":{\"name\":\"quern-consumer\","
               "\"version\":\"%s\"},\"spans\":[",
               resource, QUERN_VERSION);
    buf_init(&otlp->tail, 512);
    buf_add(&otlp->tail,
            VIEW("],\"schemaUrl\":\"" TRACE_SCHEMA_URL
                 "\"}],\"schemaUrl\":\"" TRACE_SCHEMA_URL "\"}]}"));
}

/* ------------------------------------------------------------------- share */

double otlp_share(const char *text)
{
    return *text == '\0' ? 1 : strtod(text, NULL);
}

bool otlp_check_share(const char *text, struct err *err)
{
    char *end;
    double share = strtod(text, &end);
    bool is_number = end != text && *end == '\0' && isfinite(share);
    return (is_number && share >= 0 && share <= 1) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "must be a number from 0 to 1");
}

/* -------------------------------------------------------------- life cycle */

void otlp_init(struct otlp *otlp, const struct trace_settings *settings,
               const char *instance)
{
    *otlp = (struct otlp){ .url = url_of(settings) };
    if (!otlp->url)
        return;
    read_headers(otlp, settings->headers, NULL);
    write_head(otlp, settings, instance);
    otlp->secret_count = otlp->header_count;
    otlp_add_header(otlp, VIEW("Content-Type"), VIEW("application/json"));
    otlp_add_header(otlp, VIEW("Accept"), VIEW("application/json"));
}

void otlp_finish(struct otlp *otlp)
{
    for (size_t i = 0; i < otlp->header_count; i++)
        free(otlp->headers[i]);
    free(otlp->url);
    buf_finish(&otlp->head);
    buf_finish(&otlp->tail);
    *otlp = (struct otlp){ 0 };
}

/* ----------------------------------------------------------------- answers */

/* Of a header's value whatever stands behind a scheme, too: "Bearer x". */
static void hide_headers(const struct otlp *otlp, char *text)
{
    for (size_t i = 0; i < otlp->secret_count; i++) {
        const char *value = strchr(otlp->headers[i], ':') + 2;
        const char *space = strrchr(value, ' ');
        const char *word = space ? space + 1 : value;
        if (strlen(value) >= SECRET_LEAST)
            secret_hide(text, value);
        if (strlen(word) >= SECRET_LEAST)
            secret_hide(text, word);
    }
}

/* theirs: NULL: the collector has said nothing. */
static void say(const struct otlp *otlp, struct export_answer *answer,
                const char *sentence, const char *theirs)
{
    char text[129];
    struct view head =
        view_head(view_of(theirs ? theirs : ""), sizeof(text) - 1);
    snprintf(text, sizeof(text), "%.*s", VIEW_ARG(head));
    hide_headers(otlp, text);
    snprintf(answer->why, sizeof(answer->why), "%.125s%s%s", sentence,
             *text ? ": " : "", text);
}

/* A number, or 64 bits as a text. */
static uint64_t read_rejected(const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) > 0)
        return (uint64_t)json_integer_value(value);
    return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10)
                                 : 0;
}

/* partialSuccess: some were refused, or, with none of them, a warning. */
static void judge_success(const struct otlp *otlp, const json_t *said,
                          struct export_answer *answer)
{
    const json_t *partial = json_object_get(said, "partialSuccess");
    const char *message =
        json_string_value(json_object_get(partial, "errorMessage"));
    answer->verdict = EXPORT_TAKEN;
    answer->refused = read_rejected(json_object_get(partial, "rejectedSpans"));
    if (answer->refused > 0)
        say(otlp, answer, "the collector has refused spans", message);
    else if (message && *message != '\0')
        say(otlp, answer, "the collector warns", message);
}

static void judge_status(const struct otlp *otlp,
                         const struct http_response *response,
                         const json_t *said, struct export_answer *answer)
{
    static const unsigned again[] = { 429, 502, 503, 504 };
    char sentence[128];
    answer->verdict = EXPORT_REFUSED;
    for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++)
        if (response->status == again[i])
            answer->verdict = EXPORT_AGAIN;
    answer->retry_after_ms = response->retry_after_ms;
    bool moved = response->status >= 300 && response->status < 400;
    snprintf(sentence, sizeof(sentence), "the collector has answered %u%s",
             response->status, moved ? ", and redirects are not followed" : "");
    say(otlp, answer, sentence,
        json_string_value(json_object_get(said, "message")));
}

void otlp_judge(const struct otlp *otlp, const struct http_response *response,
                struct view body, struct export_answer *answer)
{
    *answer = (struct export_answer){ 0 };
    /* By its status alone: the body may be too long to be kept. */
    if (response->end != HTTP_ANSWERED && response->end != HTTP_STOPPED) {
        answer->verdict = EXPORT_AGAIN;
        say(otlp, answer, "the collector cannot be reached", response->text);
        return;
    }
    json_t *said = json_loadb(body.data, body.len, 0, NULL);
    if (response->status >= 200 && response->status < 300)
        judge_success(otlp, said, answer);
    else
        judge_status(otlp, response, said, answer);
    json_decref(said);
}
