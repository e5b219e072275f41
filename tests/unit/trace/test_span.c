/* Spans as JSON: what each is written as, what is left out, and bounds. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/trace/span.h"

#define JOB "01a22404-1a1a-7000-8540-bad34c87da53"
#define TRACE "01a224041a1a70008540bad34c87da53"

struct world {
    struct span_out out;
    json_t *span; /* the last one */
    size_t spans, lost;
};

static void take(void *owner, struct view span)
{
    struct world *world = owner;
    json_decref(world->span);
    world->span = json_loadb(span.data, span.len, JSON_REJECT_DUPLICATES, NULL);
    if (span.len > 0)
        assert_non_null(world->span);
    world->spans += span.len > 0;
    world->lost += span.len == 0;
}

static void begin(struct world *world, double share)
{
    *world = (struct world){ 0 };
    span_out_init(&world->out, share);
    world->out.add = take;
    world->out.owner = world;
}

static void end(struct world *world)
{
    json_decref(world->span);
    span_out_finish(&world->out);
}

static const char *text_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

/* The value of an attribute, with its kind: "stringValue x". */
static const char *attribute(const struct world *world, const char *key)
{
    static char text[256];
    size_t i;
    json_t *one, *value;
    const char *kind;
    json_array_foreach(json_object_get(world->span, "attributes"), i, one) {
        if (strcmp(text_of(one, "key"), key) != 0)
            continue;
        json_object_foreach(json_object_get(one, "value"), kind, value) {
            char *written = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
            snprintf(text, sizeof(text), "%s %s", kind, written);
            free(written);
        }
        return text;
    }
    return NULL;
}

static void a_span_has_its_form(void **state)
{
    struct world world;
    struct job_trace trace;
    struct span root = { 0 }, span = { 0 };
    char parent[32];
    (void)state;
    begin(&world, 1);
    job_trace_init(&trace, &world.out, VIEW(JOB));
    span_begin(&trace, &root, 0);
    span_begin(&trace, &span, root.id);
    snprintf(parent, sizeof(parent), "%016llx", (unsigned long long)root.id);
    struct span_out *out = span_write(&trace, &span, SPAN_CLIENT, VIEW("chat"),
                                      VIEW("a \"model\"\n\xff"));
    assert_ptr_equal(out, &world.out);
    span_text(out, KEY_REQUEST_MODEL, VIEW("m"));
    span_text(out, KEY_TENANT, VIEW(""));
    span_whole(out, KEY_INPUT_TOKENS, UINT64_C(9007199254740993));
    span_seconds(out, KEY_FIRST_CHUNK, UINT64_C(1020000003));
    span_text(out, KEY_FINISH_REASONS, VIEW("stop"));
    span_flag(out, KEY_SUMMARY);
    span_fail(out, VIEW("model_cut"), VIEW("it broke off"));
    span_finish(out);
    assert_int_equal(world.spans, 1);
    assert_string_equal(text_of(world.span, "traceId"), TRACE);
    assert_string_equal(text_of(world.span, "parentSpanId"), parent);
    assert_int_equal(strlen(text_of(world.span, "spanId")), 16);
    assert_string_equal(text_of(world.span, "name"),
                        "chat a \"model\"\n\xef\xbf\xbd");
    assert_int_equal(json_integer_value(json_object_get(world.span, "kind")),
                     3);
    assert_int_equal(strlen(text_of(world.span, "startTimeUnixNano")), 19);
    assert_true(strcmp(text_of(world.span, "startTimeUnixNano"),
                       text_of(world.span, "endTimeUnixNano")) <= 0);
    assert_string_equal(attribute(&world, "gen_ai.request.model"),
                        "stringValue \"m\"");
    assert_null(attribute(&world, "quern.tenant"));
    assert_string_equal(attribute(&world, "gen_ai.usage.input_tokens"),
                        "intValue \"9007199254740993\"");
    assert_non_null(
        strstr(attribute(&world, "gen_ai.response.time_to_first_chunk"),
               "doubleValue 1.02000000"));
    assert_string_equal(attribute(&world, "gen_ai.response.finish_reasons"),
                        "arrayValue {\"values\":[{\"stringValue\":\"stop\"}]}");
    assert_string_equal(attribute(&world, "quern.summary"), "boolValue true");
    assert_string_equal(attribute(&world, "error.type"),
                        "stringValue \"model_cut\"");
    json_t *status = json_object_get(world.span, "status");
    assert_int_equal(json_integer_value(json_object_get(status, "code")), 2);
    assert_string_equal(text_of(status, "message"), "it broke off");
    assert_null(json_object_get(world.span, "links"));
    end(&world);
}

static void links_name_both_kinds(void **state)
{
    const struct trace producer = {
        .parent =
            VIEW("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
        .state = VIEW("a=1,b=\"2\"")
    };
    struct world world;
    struct job_trace trace;
    struct span span = { 0 };
    (void)state;
    begin(&world, 1);
    job_trace_init(&trace, &world.out, VIEW(JOB));
    span_begin(&trace, &span, 0);
    struct span_out *out =
        span_write(&trace, &span, SPAN_CONSUMER, VIEW("process"), VIEW(""));
    span_link_foreign(out, &producer);
    span_link_own(out, 0x1f);
    span_finish(out);
    json_t *links = json_object_get(world.span, "links");
    json_t *first = json_array_get(links, 0),
           *second = json_array_get(links, 1);
    assert_null(json_object_get(world.span, "parentSpanId"));
    assert_string_equal(text_of(first, "traceId"),
                        "0af7651916cd43dd8448eb211c80319c");
    assert_string_equal(text_of(first, "spanId"), "b7ad6b7169203331");
    assert_string_equal(text_of(first, "traceState"), "a=1,b=\"2\"");
    /* Not sampled, there; and another process. */
    assert_int_equal(json_integer_value(json_object_get(first, "flags")),
                     0x300);
    assert_string_equal(text_of(second, "traceId"), TRACE);
    assert_string_equal(text_of(second, "spanId"), "000000000000001f");
    assert_int_equal(json_integer_value(json_object_get(second, "flags")),
                     0x301);
    end(&world);
}

static void a_span_is_written_once(void **state)
{
    struct world world;
    struct job_trace trace;
    struct span span = { 0 };
    (void)state;
    begin(&world, 1);
    job_trace_init(&trace, &world.out, VIEW(JOB));
    assert_null(span_write(&trace, &span, SPAN_INTERNAL, VIEW("a"), VIEW("")));
    span_begin(&trace, &span, 0);
    span_finish(span_write(&trace, &span, SPAN_INTERNAL, VIEW("a"), VIEW("")));
    assert_null(span_write(&trace, &span, SPAN_INTERNAL, VIEW("a"), VIEW("")));
    assert_int_equal(world.spans, 1);
    end(&world);
}

static void a_share_is_written_and_all_agree(void **state)
{
    enum { JOBS = 4000 };
    struct world world, other;
    size_t written = 0;
    (void)state;
    begin(&world, 0.25);
    begin(&other, 0.25);
    for (unsigned int i = 0; i < JOBS; i++) {
        struct job_trace trace, elsewhere;
        struct span span = { 0 };
        char id[64], header[SPAN_PARENT_BYTES];
        snprintf(id, sizeof(id), "01a22404-1a1a-7000-8%03x-%08x%04x",
                 i * 2654435761U >> 20, i * 2654435761U, i & 0xffff);
        job_trace_init(&trace, &world.out, view_of(id));
        job_trace_init(&elsewhere, &other.out, view_of(id));
        assert_int_equal(trace.written, elsewhere.written);
        written += trace.written;
        /* Headers have an id all the same, and say which it is. */
        span_begin(&trace, &span, 0);
        struct view parent = span_header(&trace, &span, header);
        assert_int_equal(parent.len, 55);
        assert_int_equal(parent.data[54], trace.written ? '1' : '0');
    }
    assert_in_range(written, JOBS / 5, JOBS * 3 / 10);
    end(&world);
    end(&other);
    begin(&world, 0);
    struct job_trace none;
    job_trace_init(&none, &world.out, VIEW(JOB));
    assert_false(none.written);
    end(&world);
}

static void off_costs_nothing_and_says_nothing(void **state)
{
    struct job_trace trace;
    struct span span = { 0 };
    char header[SPAN_PARENT_BYTES], digits[TRACE_PARENT_LEN + 1];
    (void)state;
    job_trace_init(&trace, NULL, VIEW(JOB));
    span_begin(&trace, &span, 0);
    assert_int_equal(span.id, 0);
    assert_int_equal(span_header(&trace, &span, header).len, 0);
    assert_int_equal(span_digits(&trace, &span, digits).len, 0);
    assert_null(span_write(&trace, &span, SPAN_INTERNAL, VIEW("a"), VIEW("")));
    assert_false(job_trace_has_content(&trace));
}

static void texts_have_bounds(void **state)
{
    enum { LEN = 100000 };
    struct world world;
    struct job_trace trace;
    struct span span = { 0 };
    char *text = malloc(LEN);
    (void)state;
    memset(text, 'x', LEN);
    begin(&world, 1);
    job_trace_init(&trace, &world.out, VIEW(JOB));
    for (int content = 0; content < 2; content++) {
        world.out.content = content;
        span_begin(&trace, &span, 0);
        struct span_out *out =
            span_write(&trace, &span, SPAN_INTERNAL, VIEW("a"), VIEW(""));
        span_text(out, KEY_TENANT, (struct view){ text, LEN });
        span_content(out, KEY_TOOL_RESULT, (struct view){ text, LEN });
        span_finish(out);
        assert_in_range(world.out.text.len, 256,
                        content ? SPAN_CONTENT_BYTES + 1024 : 1024);
    }
    /* Each byte of a text may take six: a span can be too long. */
    memset(text, 1, LEN);
    span_begin(&trace, &span, 0);
    struct span_out *out =
        span_write(&trace, &span, SPAN_INTERNAL, VIEW("a"), VIEW(""));
    span_content(out, KEY_TOOL_RESULT, (struct view){ text, LEN });
    span_content(out, KEY_TOOL_ARGUMENTS, (struct view){ text, LEN });
    span_finish(out);
    assert_int_equal(world.lost, 1);
    free(text);
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_its_form),
        cmocka_unit_test(links_name_both_kinds),
        cmocka_unit_test(a_span_is_written_once),
        cmocka_unit_test(a_share_is_written_and_all_agree),
        cmocka_unit_test(off_costs_nothing_and_says_nothing),
        cmocka_unit_test(texts_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
