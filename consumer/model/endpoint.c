/* endpoint.c - the model endpoints that the operator has set up, by name.
 *
 * First what an endpoint takes of a job's parameters, then how its entry is
 * read, then the table of all. */
#include "consumer/model/endpoint.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/model/reply_error.h"
#include "consumer/model/secret.h"
#include "schemas/message/buf.h"
#include "schemas/message/sampling.h"

static const char OPENAI_URL[] = "https://api.openai.com/v1";

enum {
    MAX_KEY = 16 << 10,
    MAX_QUERY = 4 << 10,
    MAX_WAIT_MS = 24 * 3600 * 1000
};

static char *endpoint_copy_text(const char *text)
{
    return text ? view_dup(view_of(text)) : NULL;
}

struct model_endpoint *endpoint_take(struct model_endpoint *endpoint)
{
    endpoint->refs++;
    return endpoint;
}

bool endpoint_has(const struct model_endpoint *endpoint, unsigned quirks)
{
    return (endpoint->quirks & quirks) != 0;
}

void endpoint_hide(const struct model_endpoint *endpoint, char *text)
{
    secret_hide(text, endpoint->key);
    headers_hide(&endpoint->headers, text);
    secret_hide_query(text, endpoint->query);
}

void endpoint_free(struct model_endpoint *endpoint)
{
    if (!endpoint || --endpoint->refs > 0)
        return;
    free(endpoint->name);
    free(endpoint->url);
    free(endpoint->query);
    headers_finish(&endpoint->headers);
    free(endpoint->key);
    free(endpoint->key_file);
    free(endpoint->model);
    free(endpoint->fallback);
    json_decref(endpoint->parameters);
    json_decref(endpoint->job_parameters);
    free(endpoint);
}

static void cleanup_endpoint(struct model_endpoint **endpoint)
{
    endpoint_free(*endpoint);
}

static struct model_endpoint *endpoint_new(const char *name)
{
    struct model_endpoint *endpoint = calloc(1, sizeof(*endpoint));

    if (!endpoint)
        abort();
    endpoint->refs = 1;
    endpoint->dialect = &dialect_chat;
    endpoint->name = endpoint_copy_text(name);
    return endpoint;
}

/* ------------------------------------------------------ a job's parameters */

/* "job_parameters" of an entry has a rule for each parameter, and "*" one for
 * all others. Without a rule a parameter is allowed.
 *
 *   true          allowed            [least, most]  moved into these bounds
 *   false         the job is refused [word, ...]    one of these, else refused
 *   "drop"        left out */

static bool is_range(const json_t *rule)
{
    const json_t *least = json_array_get(rule, 0);
    const json_t *most = json_array_get(rule, 1);

    return json_array_size(rule) == 2 && json_is_number(least) &&
           json_is_number(most) &&
           json_number_value(least) <= json_number_value(most);
}

static bool are_words(const json_t *rule)
{
    const json_t *word;
    size_t i;

    json_array_foreach(rule, i, word)
        if (!json_is_string(word))
            return false;
    return json_array_size(rule) > 0;
}

static bool is_drop(const json_t *rule)
{
    const char *word = json_string_value(rule);

    return word && strcmp(word, "drop") == 0;
}

static bool rule_fits(const struct sampling *one, const json_t *rule)
{
    if (json_is_boolean(rule) || is_drop(rule))
        return true;
    if (!one || one->kind == SAMPLING_STOP)
        return false;
    return one->kind == SAMPLING_WORD ? are_words(rule) : is_range(rule);
}

static bool check_rules(const json_t *allow, struct err *err)
{
    const char *name;
    json_t *rule;

    if (!json_is_object(allow))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "job_parameters: must be an object");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)allow, name, rule) {
        const struct sampling *one = sampling_find(view_of(name));

        if (!one && strcmp(name, "*") != 0)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "job_parameters: there is no \"%.40s\"", name);
        if (!rule_fits(one, rule))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "job_parameters: %s must be true, false, \"drop\"%s",
                           name,
                           !one || one->kind == SAMPLING_STOP ? ""
                           : one->kind == SAMPLING_WORD ? " or a list of words"
                                                        : " or [least, most]");
    }
    return true;
}

/* NULL: allowed. */
static const json_t *rule_of(const struct model_endpoint *endpoint,
                             const char *name)
{
    const json_t *rule = json_object_get(endpoint->job_parameters, name);

    return rule ? rule : json_object_get(endpoint->job_parameters, "*");
}

static bool endpoint_has_word(const json_t *words, const json_t *word)
{
    const json_t *one;
    size_t i;

    json_array_foreach(words, i, one)
        if (json_equal(one, word))
            return true;
    return false;
}

bool endpoint_allows(const struct model_endpoint *endpoint, json_t *wishes,
                     struct err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(wishes, name, value) {
        const json_t *rule = rule_of(endpoint, name);

        if (json_is_false(rule))
            return err_set(err, ERR_REJECT, "bad_field",
                           "parameters.%.40s: the operator does not allow it "
                           "for model %s",
                           name, endpoint->name);
        if (json_is_string(value) && json_is_array(rule) &&
            !endpoint_has_word(rule, value))
            return err_set(err, ERR_REJECT, "bad_field",
                           "parameters.%.40s: the operator does not allow "
                           "\"%.40s\" for model %s",
                           name, json_string_value(value), endpoint->name);
    }
    return true;
}

/* Whether the endpoint has refused that parameter before. */
static bool is_refused(const struct model_endpoint *endpoint, const char *name)
{
    static const struct {
        const char *name;
        unsigned quirk;
    } known[] = {
        { "temperature", QUIRK_NO_TEMPERATURE },
        { "top_p", QUIRK_NO_TOP_P },
        { "seed", QUIRK_NO_SEED },
        { "stop", QUIRK_NO_STOP },
        { "reasoning_effort", QUIRK_NO_EFFORT },
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, name) == 0)
            return endpoint_has(endpoint, known[i].quirk);
    return endpoint_has(endpoint, QUIRK_NO_SAMPLING);
}

/* The value, or the bound that it exceeds. A new reference. */
static json_t *bounded(const json_t *rule, json_t *value)
{
    if (!json_is_number(value) || !is_range(rule))
        return json_incref(value);
    for (size_t i = 0; i < 2; i++) {
        json_t *bound = json_array_get(rule, i);
        double over = json_number_value(value) - json_number_value(bound);

        if (i == 0 ? over < 0 : over > 0)
            return json_incref(bound);
    }
    return json_incref(value);
}

json_t *endpoint_parameters(const struct model_endpoint *endpoint,
                            json_t *wishes)
{
    const char *name;
    json_t *all, *value;

    if (json_object_size(wishes) == 0)
        return json_incref(endpoint->parameters);
    all = endpoint->parameters ? json_deep_copy(endpoint->parameters)
                               : json_object();
    json_object_foreach(wishes, name, value) {
        const json_t *rule = rule_of(endpoint, name);
        json_t *fit;

        if (is_drop(rule) || json_is_false(rule) || is_refused(endpoint, name))
            continue;
        fit = bounded(rule, value);
        endpoint->dialect->set_parameter(all, name, fit);
        json_decref(fit);
    }
    return all;
}

/* ---------------------------------------------------- an entry of the file */

static bool bad_member(struct err *err, const char *name, const char *want)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", name, want);
}

/* "url" may have a query, and "query" adds to it: both are sent, in the order
 * in which the file has them. */
static void add_query(struct model_endpoint *endpoint, struct view query)
{
    char *before = endpoint->query;

    if (asprintf(&endpoint->query, "%s%s%.*s", before ? before : "",
                 before ? "&" : "", VIEW_ARG(query)) < 0)
        abort();
    free(before);
}

static bool endpoint_set_url(struct model_endpoint *endpoint, const char *url,
                             struct err *err)
{
    struct view view = view_of(url);

    if (!view_starts(view, "http://") && !view_starts(view, "https://"))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "url must start with http:// or https://");
    if (memchr(view.data, '#', view.len))
        return err_set(err, ERR_REJECT, "bad_setting", "url must not have a #");
    const char *mark = memchr(view.data, '?', view.len);
    size_t path = mark ? (size_t)(mark - view.data) : view.len;
    if (mark && path + 1 < view.len)
        add_query(endpoint, (struct view){ mark + 1, view.len - path - 1 });
    view.len = path;
    while (view.data[view.len - 1] == '/')
        view.len--;
    endpoint->url = view_dup(view);
    return true;
}

/* Operators often paste the URL of a request, and not that of the API. The
 * dialect must be known before its path can be cut off. */
static void cut_path(struct model_endpoint *endpoint)
{
    assert(endpoint->url);
    size_t len = strlen(endpoint->url), path = strlen(endpoint->dialect->path);

    if (len > path &&
        strcmp(endpoint->url + len - path, endpoint->dialect->path) == 0)
        endpoint->url[len - path] = '\0';
}

static void endpoint_add_escaped(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr("-._~", *text))
            buf_append(out, text, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)*text);
}

/* Headers of an endpoint are made once, not for each job, so {{job...}} has no
 * meaning there. */
static bool set_headers(struct model_endpoint *endpoint, json_t *value,
                        struct err *err)
{
    if (!headers_read(&endpoint->headers, value, err))
        return false;
    return !endpoint->headers.of_job[0] ||
           bad_member(err, "headers", "{{job...}} is for tools only");
}

static bool set_query(struct model_endpoint *endpoint, json_t *value,
                      struct err *err)
{
    CLEANUP(buf_finish) struct buf query;
    const char *name;
    json_t *text;

    buf_init(&query, MAX_QUERY);
    if (!json_is_object(value))
        return bad_member(err, "query", "must be an object of texts");
    json_object_foreach(value, name, text) {
        if (!json_is_string(text))
            return bad_member(err, "query", "must be an object of texts");
        buf_add(&query, query.len > 0 ? VIEW("&") : VIEW(""));
        endpoint_add_escaped(&query, name);
        buf_add(&query, VIEW("="));
        endpoint_add_escaped(&query, json_string_value(text));
    }
    if (!buf_ok(&query))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "query: is longer than %d bytes", MAX_QUERY);
    if (query.len > 0)
        add_query(endpoint, buf_view(&query));
    return true;
}

/* The key is the first line: editors leave a line end in such files. */
static bool read_key(struct model_endpoint *endpoint, const char *path,
                     struct err *err)
{
    FILE *file = fopen(path, "re");
    char key[MAX_KEY];
    size_t len;

    if (!file)
        return err_set(err, ERR_REJECT, "bad_setting", "key_file %s: %s", path,
                       strerror(errno));
    len = fread(key, 1, sizeof(key) - 1, file);
    fclose(file);
    key[len] = '\0';
    key[strcspn(key, "\r\n")] = '\0';
    if (!*key)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "key_file %s: no key in it", path);
    free(endpoint->key);
    endpoint->key = endpoint_copy_text(key);
    return true;
}

static bool set_dialect(struct model_endpoint *endpoint, const char *name,
                        struct err *err)
{
    const struct dialect *dialect = dialect_find(name);

    if (!dialect)
        return bad_member(err, "dialect",
                          "must be chat, anthropic or responses");
    endpoint->dialect = dialect;
    return true;
}

/* file: the one that is read; a path in it is relative to it. */
static bool endpoint_set_text(struct model_endpoint *endpoint, const char *file,
                              const char *name, const json_t *value,
                              struct err *err)
{
    const char *text = json_string_value(value);

    if (!text || !*text)
        return bad_member(err, name, "must be a text");
    if (strcmp(name, "url") == 0)
        return endpoint_set_url(endpoint, text, err);
    if (strcmp(name, "key_file") == 0) {
        char *path = entry_path_beside(file, text);

        free(endpoint->key_file);
        endpoint->key_file = path;
        return read_key(endpoint, path, err);
    }
    if (strcmp(name, "dialect") == 0)
        return set_dialect(endpoint, text, err);
    if (strcmp(name, "key") == 0)
        endpoint->key = endpoint_copy_text(text);
    else if (strcmp(name, "fallback") == 0)
        endpoint->fallback = endpoint_copy_text(text);
    else
        endpoint->model = endpoint_copy_text(text);
    return true;
}

static bool set_wait(uint64_t *wait_ms, const char *name, const json_t *value,
                     struct err *err)
{
    json_int_t given = json_integer_value(value);

    if (!json_is_integer(value) || given < 1 || given > MAX_WAIT_MS)
        return bad_member(err, name,
                          "must be milliseconds, 1 to 86400000 (a day)");
    *wait_ms = (uint64_t)given;
    return true;
}

static bool set_window(struct model_endpoint *endpoint, const json_t *value,
                       struct err *err)
{
    json_int_t given = json_integer_value(value);

    if (!json_is_integer(value) || given < LEAST_WINDOW || given > MOST_WINDOW)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "window: must be tokens, %d to %d", LEAST_WINDOW,
                       MOST_WINDOW);
    endpoint->window = (uint64_t)given;
    return true;
}

static bool set_history(struct model_endpoint *endpoint, const json_t *value,
                        struct err *err)
{
    const char *text = json_string_value(value);

    if (!text || (strcmp(text, "drop") != 0 && strcmp(text, "summarise") != 0))
        return bad_member(err, "history", "must be drop or summarise");
    endpoint->summarises = strcmp(text, "summarise") == 0;
    return true;
}

static bool endpoint_set_member(struct model_endpoint *endpoint,
                                const char *file, const char *name,
                                json_t *value, struct err *err)
{
    static const char *const texts[] = { "url",      "model",    "key",
                                         "key_file", "fallback", "dialect" };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        if (strcmp(name, texts[i]) == 0)
            return endpoint_set_text(endpoint, file, name, value, err);
    if (strcmp(name, "first_byte_ms") == 0)
        return set_wait(&endpoint->first_byte_ms, name, value, err);
    if (strcmp(name, "idle_ms") == 0)
        return set_wait(&endpoint->idle_ms, name, value, err);
    if (strcmp(name, "total_ms") == 0)
        return set_wait(&endpoint->total_ms, name, value, err);
    if (strcmp(name, "window") == 0)
        return set_window(endpoint, value, err);
    if (strcmp(name, "job_parameters") == 0) {
        endpoint->job_parameters = json_incref(value);
        return check_rules(value, err);
    }
    if (strcmp(name, "query") == 0)
        return set_query(endpoint, value, err);
    if (strcmp(name, "headers") == 0)
        return set_headers(endpoint, value, err);
    if (strcmp(name, "price") == 0)
        return price_read(&endpoint->price, value, err);
    if (strcmp(name, "sees") == 0) {
        endpoint->sees = json_is_true(value);
        return json_is_boolean(value) ||
               bad_member(err, name, "must be true or false");
    }
    if (strcmp(name, "history") == 0)
        return set_history(endpoint, value, err);
    if (strcmp(name, "parameters") != 0)
        return bad_member(
            err, name,
            "unknown; there are url, query, headers, dialect, model, key, "
            "key_file, fallback, parameters, job_parameters, window, "
            "history, sees, price, first_byte_ms, idle_ms, total_ms");
    if (!json_is_object(value))
        return bad_member(err, name, "must be an object");
    endpoint->parameters = json_incref(value);
    return true;
}

/* --------------------------------------------------------------- the table */

/* Takes the endpoint when it succeeds. */
static bool endpoints_add(struct endpoints *endpoints,
                          struct model_endpoint **endpoint, struct err *err)
{
    if (endpoints->count == MAX_ENDPOINTS)
        return err_set(err, ERR_REJECT, "bad_setting", "more than %d endpoints",
                       MAX_ENDPOINTS);
    endpoints->items[endpoints->count++] = *endpoint;
    *endpoint = NULL;
    return true;
}

static bool endpoints_add_entry(void *owner, const char *name,
                                const json_t *entry, struct err *err)
{
    struct endpoints *endpoints = owner;
    CLEANUP(cleanup_endpoint)
    struct model_endpoint *endpoint = endpoint_new(name);
    const char *member;
    json_t *value;

    if (!json_is_object(entry))
        return err_set(err, ERR_REJECT, "bad_setting", "must be an object");
    if (json_object_get(entry, "key") && json_object_get(entry, "key_file"))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "key and key_file must not stand together: both say "
                       "what the key is");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)entry, member, value)
        if (!endpoint_set_member(endpoint, endpoints->file, member, value, err))
            return false;
    if (!endpoint->url)
        return err_set(err, ERR_REJECT, "bad_setting", "url is missing");
    cut_path(endpoint);
    if (!endpoint->model)
        endpoint->model = endpoint_copy_text(name);
    return endpoints_add(endpoints, &endpoint, err);
}

static bool add_default(struct endpoints *endpoints,
                        const struct endpoint_source *source, struct err *err)
{
    const char *url = source->base_url ? source->base_url : OPENAI_URL;
    CLEANUP(cleanup_endpoint)
    struct model_endpoint *endpoint = endpoint_new("default");

    if (!endpoint_set_url(endpoint, url, err))
        return false;
    cut_path(endpoint);
    endpoint->key = endpoint_copy_text(source->key);
    endpoint->model =
        endpoint_copy_text(source->model ? source->model : "default");
    endpoint->unnamed = !source->model;
    return endpoints_add(endpoints, &endpoint, err);
}

/* The position of that name; the count when there is none. */
static size_t endpoints_find(const struct endpoints *endpoints,
                             struct view name)
{
    size_t i = 0;

    while (i < endpoints->count && !view_is(name, endpoints->items[i]->name))
        i++;
    return i;
}

/* As endpoints_find(), by what the endpoint calls its model. */
static size_t find_model(const struct endpoints *endpoints, struct view model)
{
    size_t i = 0;

    while (i < endpoints->count && !view_is(model, endpoints->items[i]->model))
        i++;
    return i;
}

static bool has_default(const struct endpoints *endpoints)
{
    return endpoints_find(endpoints, VIEW("default")) < endpoints->count;
}

static void put_default_first(struct endpoints *endpoints)
{
    size_t at = endpoints_find(endpoints, VIEW("default"));
    struct model_endpoint *first = endpoints->items[0];

    if (!has_default(endpoints))
        return;
    endpoints->items[0] = endpoints->items[at];
    endpoints->items[at] = first;
}

/* Each chain of fallbacks must come to an end, and name only endpoints that
 * there are. */
static bool check_fallbacks(const struct endpoints *endpoints, struct err *err)
{
    for (size_t i = 0; i < endpoints->count; i++) {
        const struct model_endpoint *at = endpoints->items[i];
        size_t hops = 0;

        while (at->fallback && hops++ < endpoints->count) {
            size_t next = endpoints_find(endpoints, view_of(at->fallback));

            if (next == endpoints->count)
                return err_set(err, ERR_REJECT, "bad_setting",
                               "%s: fallback: there is no model \"%s\"",
                               at->name, at->fallback);
            at = endpoints->items[next];
        }
        if (at->fallback)
            return err_set(
                err, ERR_REJECT, "bad_setting",
                "%s: fallback: the fallbacks lead back to this entry",
                endpoints->items[i]->name);
    }
    return true;
}

bool endpoints_load(struct endpoints *endpoints,
                    const struct endpoint_source *source, struct err *err)
{
    CLEANUP(endpoints_finish)
    struct endpoints loaded = { .file = source->file };

    if (source->file &&
        !entry_read_file(source->file, "{name: {url, model, ...}}",
                         endpoints_add_entry, &loaded, err))
        return false;
    if ((source->base_url || source->key) && !has_default(&loaded) &&
        !add_default(&loaded, source, err))
        return false;
    if (!check_fallbacks(&loaded, err))
        return false;
    put_default_first(&loaded);
    loaded.file = NULL; /* the settings have it, and may change */
    endpoints_finish(endpoints);
    *endpoints = loaded;
    loaded = (struct endpoints){ 0 };
    return true;
}

void endpoints_finish(struct endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->count; i++)
        endpoint_free(endpoints->items[i]);
    *endpoints = (struct endpoints){ 0 };
}

static bool unknown_model(const struct endpoints *endpoints, struct view name,
                          struct err *err)
{
    CLEANUP(buf_finish) struct buf names;

    buf_init(&names, 256);
    if (endpoints->count == 0)
        return err_set(err, ERR_REJECT, "unknown_model",
                       "no model is configured");
    for (size_t i = 0; i < endpoints->count; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "",
                   endpoints->items[i]->name);
    return err_set(err, ERR_REJECT, "unknown_model",
                   "model %.*s is not configured; there are %.*s",
                   VIEW_ARG(name), VIEW_ARG(buf_view(&names)));
}

struct model_endpoint *endpoints_take(const struct endpoints *endpoints,
                                      struct view name, struct err *err)
{
    size_t at = name.len > 0 ? endpoints_find(endpoints, name) : 0;

    if (at == endpoints->count)
        at = find_model(endpoints, name);
    if (at < endpoints->count)
        return endpoint_take(endpoints->items[at]);
    unknown_model(endpoints, name, err);
    return NULL;
}

char *endpoints_names(const struct endpoints *endpoints)
{
    json_t *names = json_array(), *seen = json_object();
    char *text;

    for (size_t i = 0; i < endpoints->count; i++) {
        const char *of_one[] = { endpoints->items[i]->name,
                                 endpoints->items[i]->model };

        for (size_t j = 0; j < 2; j++)
            if (!json_object_get(seen, of_one[j]) &&
                json_object_set_new(seen, of_one[j], json_true()) == 0)
                json_array_append_new(names, json_string(of_one[j]));
    }
    text = json_dumps(names, JSON_COMPACT);
    json_decref(names);
    json_decref(seen);
    return text;
}
