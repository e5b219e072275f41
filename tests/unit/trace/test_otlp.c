/* Settings of a collector as everybody knows them, and what its answers mean.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/trace/otlp.h"

static struct trace_settings settings_of(const char *endpoint, const char *own,
                                         const char *headers,
                                         const char *service,
                                         const char *resource)
{
    static char texts[5][512];
    const char *given[] = { endpoint, own, headers, service, resource };
    for (size_t i = 0; i < 5; i++)
        snprintf(texts[i], sizeof(texts[i]), "%s", given[i]);
    return (struct trace_settings){ .endpoint = texts[0],
                                    .traces_endpoint = texts[1],
                                    .headers = texts[2],
                                    .service = texts[3],
                                    .resource = texts[4] };
}

static void urls_are_made_as_the_specification_says(void **state)
{
    static const struct {
        const char *endpoint, *own, *url, *place;
    } rows[] = {
        { "http://c:4318", "", "http://c:4318/v1/traces",
          "http://c:4318/v1/traces" },
        { "https://c/a/", "", "https://c/a/v1/traces",
          "https://c/a/v1/traces" },
        { "http://c:4318", "http://d/x", "http://d/x", "http://d/x" },
        { "", "https://u:p@d:1/x?key=1", "https://u:p@d:1/x?key=1",
          "https://d:1/x" },
        { "http://c#@x", "", "http://c#@x/v1/traces", "http://c" },
        { "", "", NULL, NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct trace_settings settings =
            settings_of(rows[i].endpoint, rows[i].own, "", "", "");
        struct otlp otlp;
        otlp_init(&otlp, &settings, "me");
        if (!rows[i].url) {
            assert_null(otlp.url);
            continue;
        }
        assert_string_equal(otlp.url, rows[i].url);
        CLEANUP(buf_finish) struct buf place;
        buf_init(&place, 200);
        otlp_place(&otlp, &place);
        assert_true(view_is(buf_view(&place), rows[i].place));
        otlp_finish(&otlp);
    }
}

static void headers_are_decoded(void **state)
{
    struct trace_settings settings =
        settings_of("http://c", "",
                    "authorization=Bearer%20abc=, x-a = b%2Cc ,,y=", "", "");
    struct otlp otlp;
    (void)state;
    otlp_init(&otlp, &settings, "me");
    assert_string_equal(otlp.headers[0], "authorization: Bearer abc=");
    assert_string_equal(otlp.headers[1], "x-a: b,c");
    assert_string_equal(otlp.headers[2], "y: ");
    assert_string_equal(otlp.headers[3], "Content-Type: application/json");
    assert_null(otlp.headers[otlp.header_count]);
    otlp_finish(&otlp);
}

static void wrong_settings_are_refused(void **state)
{
    static const struct {
        bool (*check)(const char *text, struct err *err);
        const char *text, *why; /* NULL: it is right */
    } rows[] = {
        { otlp_check_url, "http://c:4318", NULL },
        { otlp_check_url, "HTTPS://c", NULL },
        { otlp_check_url, "c:4318", "begins with http://" },
        { otlp_check_headers, "a=b,c=d", NULL },
        { otlp_check_headers, "secret", "no \"=\"" },
        { otlp_check_headers, "=secret", "no name" },
        { otlp_check_headers, "a=secret%0d%0ab: c", "not a header" },
        { otlp_check_headers, "a:b=secret", "not a header" },
        { otlp_check_headers, "a=secret%ff", "not a header" },
        { otlp_check_headers, "a=secret%4", "two hexadecimal digits" },
        { otlp_check_headers, "a=secret%", "two hexadecimal digits" },
        { otlp_check_headers, "a=%41", NULL },
        { otlp_check_attributes, "a.b=c,d=%E2%82%AC", NULL },
        { otlp_check_attributes, "a=%ff", "UTF-8" },
        { otlp_check_attributes, "a", "no \"=\"" },
        { otlp_check_share, "0.25", NULL },
        { otlp_check_share, "0", NULL },
        { otlp_check_share, "1", NULL },
        { otlp_check_share, "1.1", "from 0 to 1" },
        { otlp_check_share, "-0.1", "from 0 to 1" },
        { otlp_check_share, "nan", "from 0 to 1" },
        { otlp_check_share, "10%", "from 0 to 1" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = { 0 };
        bool good = rows[i].check(rows[i].text, &err);
        if (good != !rows[i].why ||
            (rows[i].why && !strstr(err.text, rows[i].why)))
            fail_msg("\"%s\": %s", rows[i].text, good ? "taken" : err.text);
        assert_null(strstr(err.text, "secret"));
    }
}

static void too_many_headers_are_refused(void **state)
{
    char text[8 * (OTLP_MAX_HEADERS + 1) + 1] = "";
    struct err err = { 0 };
    (void)state;
    for (int i = 0; i <= OTLP_MAX_HEADERS; i++)
        snprintf(text + strlen(text), 9, "h%02d=v,", i);
    assert_false(otlp_check_headers(text, &err));
    assert_non_null(strstr(err.text, "more than 32 headers"));
}

/* The resource's attribute, of the body without spans. */
static json_t *resource_of(const struct otlp *otlp)
{
    CLEANUP(buf_finish) struct buf body;
    buf_init(&body, 1 << 20);
    buf_add(&body, buf_view(&otlp->head));
    buf_add(&body, buf_view(&otlp->tail));
    json_t *read =
        json_loadb(body.data, body.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(read);
    json_t *first = json_array_get(json_object_get(read, "resourceSpans"), 0);
    json_t *attributes = json_incref(
        json_object_get(json_object_get(first, "resource"), "attributes"));
    json_decref(read);
    return attributes;
}

static const char *find(const json_t *attributes, const char *key)
{
    size_t i;
    json_t *one;
    const char *found = NULL;
    json_array_foreach(attributes, i, one)
        if (strcmp(json_string_value(json_object_get(one, "key")), key) == 0) {
            assert_null(found); /* once */
            found = json_string_value(
                json_object_get(json_object_get(one, "value"), "stringValue"));
        }
    return found;
}

static void the_resource_names_the_process(void **state)
{
    static const struct {
        const char *service, *resource, *name, *instance;
    } rows[] = {
        { "", "", "quern-consumer", "me" },
        { "", "service.name=r,a=b%22", "r", "me" },
        { "s", "service.name=r,service.instance.id=i", "s", "i" },
        { "", "host.name=h,service.name=q,service.name=r", "r", "me" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct trace_settings settings =
            settings_of("http://c", "", "", rows[i].service, rows[i].resource);
        struct otlp otlp;
        otlp_init(&otlp, &settings, "me");
        json_t *attributes = resource_of(&otlp);
        assert_string_equal(find(attributes, "service.name"), rows[i].name);
        assert_string_equal(find(attributes, "service.instance.id"),
                            rows[i].instance);
        assert_non_null(find(attributes, "service.version"));
        assert_non_null(find(attributes, "host.name"));
        json_decref(attributes);
        otlp_finish(&otlp);
    }
}

static void answers_are_judged(void **state)
{
    static const struct {
        enum http_end end;
        unsigned status;
        const char *body;
        enum export_verdict verdict;
        uint64_t refused;
        const char *why; /* a part; NULL: nothing is said */
    } rows[] = {
        { HTTP_ANSWERED, 200, "{\"partialSuccess\":{}}", EXPORT_TAKEN, 0,
          NULL },
        { HTTP_ANSWERED, 200, "", EXPORT_TAKEN, 0, NULL },
        { HTTP_ANSWERED, 200, "<html>", EXPORT_TAKEN, 0, NULL },
        { HTTP_ANSWERED, 202, "{}", EXPORT_TAKEN, 0, NULL },
        { HTTP_STOPPED, 200, "{\"partialSuc", EXPORT_TAKEN, 0, NULL },
        { HTTP_ANSWERED, 200,
          "{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":"
          "\"too old\"}}",
          EXPORT_TAKEN, 3, "refused spans: too old" },
        { HTTP_ANSWERED, 200, "{\"partialSuccess\":{\"rejectedSpans\":2}}",
          EXPORT_TAKEN, 2, "refused spans" },
        { HTTP_ANSWERED, 200, "{\"partialSuccess\":{\"rejectedSpans\":-2}}",
          EXPORT_TAKEN, 0, NULL },
        { HTTP_ANSWERED, 200,
          "{\"partialSuccess\":{\"errorMessage\":\"use v2\"}}", EXPORT_TAKEN, 0,
          "warns: use v2" },
        { HTTP_ANSWERED, 400, "{\"code\":3,\"message\":\"bad id\"}",
          EXPORT_REFUSED, 0, "answered 400: bad id" },
        { HTTP_ANSWERED, 401, "{\"message\":\"no key sk-secret here\"}",
          EXPORT_REFUSED, 0, "answered 401: no key ********* here" },
        { HTTP_ANSWERED, 404, "[]", EXPORT_REFUSED, 0, "answered 404" },
        { HTTP_ANSWERED, 307, "", EXPORT_REFUSED, 0, "not followed" },
        { HTTP_ANSWERED, 500, "", EXPORT_REFUSED, 0, "answered 500" },
        { HTTP_ANSWERED, 501, "", EXPORT_REFUSED, 0, "answered 501" },
        { HTTP_ANSWERED, 429, "", EXPORT_AGAIN, 0, "answered 429" },
        { HTTP_ANSWERED, 502, "", EXPORT_AGAIN, 0, "answered 502" },
        { HTTP_ANSWERED, 503, "", EXPORT_AGAIN, 0, "answered 503" },
        { HTTP_ANSWERED, 504, "", EXPORT_AGAIN, 0, "answered 504" },
        { HTTP_NOT_SENT, 0, "", EXPORT_AGAIN, 0, "cannot be reached: broken" },
        { HTTP_BROKEN, 0, "", EXPORT_AGAIN, 0, "cannot be reached" },
        { HTTP_TIMEOUT, 200, "", EXPORT_AGAIN, 0, "cannot be reached" },
    };
    struct trace_settings settings =
        settings_of("http://c", "", "authorization=Bearer sk-secret", "", "");
    struct otlp otlp;
    (void)state;
    otlp_init(&otlp, &settings, "me");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct http_response response = { .end = rows[i].end,
                                                .status = rows[i].status,
                                                .retry_after_ms = 7,
                                                .text = "broken" };
        struct export_answer answer;
        otlp_judge(&otlp, &response, view_of(rows[i].body), &answer);
        bool says = rows[i].why ? strstr(answer.why, rows[i].why) != NULL
                                : *answer.why == '\0';
        if (answer.verdict != rows[i].verdict ||
            answer.refused != rows[i].refused || !says)
            fail_msg("%u %s: verdict %d, refused %d, \"%s\"", rows[i].status,
                     rows[i].body, (int)answer.verdict, (int)answer.refused,
                     answer.why);
    }
    otlp_finish(&otlp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_made_as_the_specification_says),
        cmocka_unit_test(headers_are_decoded),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(too_many_headers_are_refused),
        cmocka_unit_test(the_resource_names_the_process),
        cmocka_unit_test(answers_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
