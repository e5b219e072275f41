/* fuzz_otlp.c - whatever a collector answers: a verdict, never more spans than
 * a count can hold, and a sentence without our secrets.
 *
 * The first byte chooses the status, the others are the body. */
#include <string.h>

#include "consumer/trace/otlp.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned statuses[] = { 200, 400, 429, 503, 307 };
    char url[] = "http://c", headers[] = "key=s3cret-of-ours", none[] = "";
    const struct trace_settings settings = { .endpoint = url,
                                             .traces_endpoint = none,
                                             .headers = headers,
                                             .service = none,
                                             .resource = none };
    struct http_response response = { .end = HTTP_ANSWERED };
    struct export_answer answer;
    struct otlp otlp;

    if (size == 0)
        return 0;
    response.status = statuses[data[0] % 5];
    otlp_init(&otlp, &settings, "me");
    otlp_judge(&otlp, &response,
               (struct view){ (const char *)data + 1, size - 1 }, &answer);
    MUST(answer.verdict <= EXPORT_AGAIN);
    MUST(answer.verdict == EXPORT_TAKEN || answer.refused == 0);
    MUST((response.status == 200) == (answer.verdict == EXPORT_TAKEN));
    MUST(memchr(answer.why, '\0', sizeof(answer.why)));
    MUST(!strstr(answer.why, "s3cret-of-ours"));
    MUST(view_is_utf8(view_of(answer.why)));
    otlp_finish(&otlp);
    return 0;
}
