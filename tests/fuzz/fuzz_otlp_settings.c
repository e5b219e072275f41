/* fuzz_otlp_settings.c - any text as OTEL_EXPORTER_OTLP_HEADERS, and any as
 * OTEL_RESOURCE_ATTRIBUTES: what is taken makes headers of one line each, and
 * bodies that are JSON; what is refused is refused without its values.
 *
 * The headers up to a line feed, then the attributes. */
#include <jansson.h>
#include <string.h>

#include "consumer/trace/otlp.h"
#include "tests/fuzz/fuzz.h"

/* Of attributes no more than OTLP_MAX_ATTRIBUTES, and those of ours. */
static void check_head(const struct otlp *otlp)
{
    struct buf body;
    buf_init(&body, 2 << 20);
    buf_add(&body, buf_view(&otlp->head));
    buf_add(&body, buf_view(&otlp->tail));
    MUST(buf_ok(&otlp->head) && buf_ok(&body));
    json_t *read = json_loadb(body.data, body.len,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *first =
        json_array_get(json_object_get(read, "resourceSpans"), 0);
    const json_t *attributes =
        json_object_get(json_object_get(first, "resource"), "attributes");
    MUST(json_array_size(attributes) >= 2);
    MUST(json_array_size(attributes) <= OTLP_MAX_ATTRIBUTES + 4);
    json_decref(read);
    buf_finish(&body);
}

static void check_lines(const struct otlp *otlp)
{
    MUST(otlp->secret_count <= OTLP_MAX_HEADERS);
    for (size_t i = 0; i < otlp->header_count; i++) {
        const char *line = otlp->headers[i], *colon = strstr(line, ": ");
        MUST(colon && colon > line);
        for (; *line; line++)
            MUST(*line >= ' ' && *line <= '~');
    }
    MUST(!otlp->headers[otlp->header_count]);
}

/* As settings are: checked, and only then used. */
static void check_settings(char *headers, char *attributes)
{
    char url[] = "http://c", none[] = "";
    const struct trace_settings settings = { .endpoint = url,
                                             .traces_endpoint = none,
                                             .headers = headers,
                                             .service = none,
                                             .resource = attributes };
    struct otlp otlp;
    struct err err = { 0 };
    if (!otlp_check_headers(headers, &err) ||
        !otlp_check_attributes(attributes, &err)) {
        MUST(err.kind == ERR_REJECT && *err.text != '\0');
        return;
    }
    otlp_init(&otlp, &settings, "me");
    check_lines(&otlp);
    check_head(&otlp);
    otlp_finish(&otlp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view text = { (const char *)data, size };
    const char *end = size > 0 ? memchr(data, '\n', size) : NULL;
    if (!end || memchr(data, '\0', size))
        return 0;
    size_t len = (size_t)(end - text.data);
    char *headers = view_dup((struct view){ text.data, len });
    char *attributes = view_dup((struct view){ end + 1, size - len - 1 });
    check_settings(headers, attributes);
    free(headers);
    free(attributes);
    return 0;
}
