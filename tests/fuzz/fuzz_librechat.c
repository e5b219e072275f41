/* fuzz_librechat.c - any text as the id of a session or file: what is read from
 * it is a good id, which leads back to the same text. The rest, as a path, gets
 * an id of the right form. */
#include <string.h>

#include "producer/gateway/plugs/librechat_ids.h"
#include "tests/fuzz/fuzz.h"

static void check_form(const struct librechat_id *id)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqr"
                                 "stuvwxyz0123456789-_";

    MUST(strlen(id->text) == 21 && strspn(id->text, digits) == 21);
}

static void check_back(const struct librechat_id *id, struct view text)
{
    check_form(id);
    MUST(view_is(text, id->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view text = { (const char *)data, size };
    char job[ID_LEN + 1], record[FILE_ID_BYTES];
    bool is_job = librechat_job_of_id(text, job);
    bool is_record = librechat_record_of_id(text, record);
    struct librechat_id id;

    MUST(!is_job || !is_record);
    if (is_job) {
        MUST(id_parse(view_of(job), NULL));
        id = librechat_id_of_job(view_of(job));
        check_back(&id, text);
    }
    if (is_record) {
        MUST(file_id_is_valid(view_of(record)));
        id = librechat_id_of_record(view_of(record));
        check_back(&id, text);
    }
    id = librechat_id_of_path(text);
    check_form(&id);
    return 0;
}
