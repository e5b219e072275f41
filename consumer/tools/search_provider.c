/* search_provider.c - the search services: what each is asked, and how its
 * answer is read. */
#include "consumer/tools/search_provider.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TITLE = 300, MAX_LINK = 2000, MAX_DATE = 64 };

/* ----------------------------------------------------------------- writing */

static json_t *search_cut_text(const json_t *text, size_t max)
{
    struct view whole = { json_string_value(text), json_string_length(text) };
    struct view head = whole.data ? view_head(whole, max) : whole;
    return json_stringn(head.data ? head.data : "", head.len);
}

/* Whether a reader may follow it as a link: javascript:, data:, file: and the
 * like would do something else than open a page. */
static bool is_page(const json_t *url)
{
    struct view text = { json_string_value(url), json_string_length(url) };
    return text.len <= MAX_LINK && text.data &&
           (strncasecmp(text.data, "http://", 7) == 0 ||
            strncasecmp(text.data, "https://", 8) == 0);
}

/* Appends {"title", "url", "text", "published"?} to results. A result whose URL
 * is not of http or https, or is longer than MAX_LINK bytes, is left out. What
 * is no text becomes ""; what is too long is cut. published NULL: not known. */
static void add_result(json_t *results, const json_t *title, const json_t *url,
                       const json_t *text, const json_t *published)
{
    if (!is_page(url))
        return;
    json_t *result =
        json_pack("{s:o, s:o, s:o}", "title", search_cut_text(title, MAX_TITLE),
                  "url", search_cut_text(url, MAX_LINK), "text",
                  search_cut_text(text, MAX_SEARCH_TEXT));
    if (json_is_string(published) && json_string_length(published) > 0)
        json_object_set_new(result, "published",
                            search_cut_text(published, MAX_DATE));
    json_array_append_new(results, result);
}

static void search_add_escaped(struct buf *out, const char *text)
{
    for (; *text != '\0'; text++)
        if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
            buf_append(out, text, 1);
        else
            buf_printf(out, "%%%02X", (unsigned char)*text);
}

static void add_json(struct buf *out, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    buf_add(out, view_of(text));
    free(text);
    json_decref(object);
}

static bool no_list(struct err *err, const char *where)
{
    return err_set(err, ERR_RETRY, "tool_failed",
                   "its answer has no list \"%s\"", where);
}

/* ------------------------------------------------------------------ Tavily */

static void ask_tavily(const char *query, int count, struct buf *path,
                       struct buf *body)
{
    buf_add(path, VIEW("/search"));
    add_json(body,
             json_pack("{s:s, s:i, s:s, s:b}", "query", query, "max_results",
                       count, "search_depth", "basic", "include_answer", 1));
}

/* The form that Tavily and SearXNG share. date: the member with the date. */
static bool read_results(const json_t *reply, const char *date, json_t *results,
                         struct err *err)
{
    const json_t *found = json_object_get(reply, "results");
    size_t i;
    json_t *one;
    if (!json_is_array(found))
        return no_list(err, "results");
    json_array_foreach(found, i, one)
        add_result(results, json_object_get(one, "title"),
                   json_object_get(one, "url"), json_object_get(one, "content"),
                   json_object_get(one, date));
    return true;
}

static void keep_answer(const json_t *said, json_t **answer)
{
    if (json_is_string(said) && json_string_length(said) > 0)
        *answer = search_cut_text(said, MAX_SEARCH_TEXT);
}

static bool read_tavily(const json_t *reply, json_t *results, json_t **answer,
                        struct err *err)
{
    if (!read_results(reply, "published_date", results, err))
        return false;
    keep_answer(json_object_get(reply, "answer"), answer);
    return true;
}

/* ------------------------------------------------------------------- Bocha */

static void ask_bocha(const char *query, int count, struct buf *path,
                      struct buf *body)
{
    buf_add(path, VIEW("/v1/web-search"));
    add_json(body, json_pack("{s:s, s:i, s:b, s:s}", "query", query, "count",
                             count, "summary", 1, "freshness", "noLimit"));
}

/* Errors come with HTTP status 200, too: "code" has the real status. */
static bool read_bocha(const json_t *reply, json_t *results, json_t **answer,
                       struct err *err)
{
    const json_t *code = json_object_get(reply, "code");
    const char *why = json_string_value(json_object_get(reply, "msg"));
    const json_t *found = json_object_get(
        json_object_get(json_object_get(reply, "data"), "webPages"), "value");
    size_t i;
    json_t *one;
    (void)answer;
    if (json_is_integer(code) && json_integer_value(code) != 200)
        return err_set(err, ERR_RETRY, "tool_failed", "code %lld: %.100s",
                       (long long)json_integer_value(code),
                       why ? why : "it does not say why");
    if (!json_is_array(found))
        return no_list(err, "data.webPages.value");
    json_array_foreach(found, i, one) {
        const json_t *text = json_object_get(one, "summary");
        if (!json_is_string(text) || json_string_length(text) == 0)
            text = json_object_get(one, "snippet");
        add_result(results, json_object_get(one, "name"),
                   json_object_get(one, "url"), text,
                   json_object_get(one, "datePublished"));
    }
    return true;
}

/* ------------------------------------------------------------------- Brave */

static void ask_brave(const char *query, int count, struct buf *path,
                      struct buf *body)
{
    (void)body;
    buf_add(path, VIEW("/res/v1/web/search?q="));
    search_add_escaped(path, query);
    buf_printf(path, "&count=%d&text_decorations=false", count);
}

static bool read_brave(const json_t *reply, json_t *results, json_t **answer,
                       struct err *err)
{
    const json_t *web = json_object_get(reply, "web");
    const json_t *found = json_object_get(web, "results");
    size_t i;
    json_t *one;
    (void)answer;
    if (!web && json_is_object(json_object_get(reply, "query")))
        return true; /* nothing was found */
    if (!json_is_array(found))
        return no_list(err, "web.results");
    json_array_foreach(found, i, one) {
        const json_t *published = json_object_get(one, "page_age");
        if (!published)
            published = json_object_get(one, "age");
        add_result(results, json_object_get(one, "title"),
                   json_object_get(one, "url"),
                   json_object_get(one, "description"), published);
    }
    return true;
}

/* ----------------------------------------------------------------- SearXNG */

static void ask_searxng(const char *query, int count, struct buf *path,
                        struct buf *body)
{
    (void)count; /* it has no such parameter */
    (void)body;
    buf_add(path, VIEW("/search?format=json&q="));
    search_add_escaped(path, query);
}

static bool read_searxng(const json_t *reply, json_t *results, json_t **answer,
                         struct err *err)
{
    const json_t *said = json_array_get(json_object_get(reply, "answers"), 0);
    if (!read_results(reply, "publishedDate", results, err))
        return false;
    if (json_is_object(said)) /* since 2024 */
        said = json_object_get(said, "answer");
    keep_answer(said, answer);
    return true;
}

/* -------------------------------------------------------------- DuckDuckGo */

static void ask_duckduckgo(const char *query, int count, struct buf *path,
                           struct buf *body)
{
    (void)count;
    (void)body;
    buf_add(path, VIEW("/html/?q="));
    search_add_escaped(path, query);
}

/* Of what search_page.h has made of the page. */
static bool read_duckduckgo(const json_t *reply, json_t *results,
                            json_t **answer, struct err *err)
{
    const json_t *found = json_object_get(reply, "results");
    size_t i;
    json_t *one;
    (void)answer;
    if (!json_is_array(found))
        return no_list(err, "results");
    json_array_foreach(found, i, one)
        add_result(results, json_object_get(one, "title"),
                   json_object_get(one, "url"), json_object_get(one, "text"),
                   NULL);
    return true;
}

const struct search_provider *search_provider(size_t number)
{
    static const struct search_provider table[] = {
        { "tavily", "TAVILY_API_KEY", false, false, "Authorization: Bearer ",
          ask_tavily, read_tavily },
        { "bocha", "BOCHA_API_KEY", false, false, "Authorization: Bearer ",
          ask_bocha, read_bocha },
        { "brave", "BRAVE_API_KEY", false, false,
          "X-Subscription-Token: ", ask_brave, read_brave },
        { "searxng", NULL, false, false, NULL, ask_searxng, read_searxng },
        { "duckduckgo", NULL, true, true, NULL, ask_duckduckgo,
          read_duckduckgo },
    };
    return number < sizeof(table) / sizeof(table[0]) ? &table[number] : NULL;
}
