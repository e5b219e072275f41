/* api_error.c - errors of quern as answers of HTTP. */
#include "producer/gateway/api_error.h"

#include <string.h>

/* Of codes whose status does not follow from their kind. */
static const struct {
    const char *code;
    unsigned int status;
} known[] = {
    { "unknown_job", 404 },
    { "unknown_file", 404 },
    { "unknown_session", 404 },
    { "unknown_queue", 404 },
    { "unknown_key", 404 },
    { "unknown_hook", 404 },
    { "missing_scope", 403 },
    { "not_offered", 501 },
    { "unknown_worker", 404 },
    { "unknown_schedule", 404 },
    { "expired", 404 },
    { "missing_blob", 400 },
    { "rate_limit_exceeded", 429 },
    { "queue_full", 429 },
    { "too_many_jobs", 429 },
    { "insufficient_quota", 429 },
    { "not_dead", 409 },
    { "file_too_large", 413 },
    { "stale", 409 },
    { "misplaced", 409 },
    { "redis_refused", 500 },
    { "internal", 500 },
    { "bad_setting", 500 },
};

unsigned int api_error_status(const struct err *err)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].code, err->code) == 0)
            return known[i].status;
    return err->kind == ERR_RETRY ? 503 : 400;
}

static const char *type_of(unsigned int status)
{
    switch (status) {
    case 401:
        return "invalid_request_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 409:
        return "conflict_error";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

/* Of a member that is missing or wrong, the sentence begins with its path:
 * "files[2].blob is required", "tools: ...". The length of the path; 0: it
 * begins otherwise. */
static size_t path_length(const struct err *err)
{
    static const char of_path[] = "abcdefghijklmnopqrstuvwxyz_.[]0123456789";
    static const char *const codes[] = { "bad_field", "missing_field",
                                         "too_large" };
    static const char *const behind[] = { ": ", " is ", " has ", " must " };
    size_t len = strspn(err->text, of_path);
    bool is_about_member = false, goes_on = false;

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        is_about_member |= strcmp(err->code, codes[i]) == 0;
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
        goes_on |= view_starts(view_of(err->text + len), behind[i]);
    return is_about_member && goes_on &&
                   !view_starts(view_of(err->text), "there is ")
               ? len
               : 0;
}

void api_error_write(unsigned int status, const struct err *err,
                     const char *param, struct buf *body)
{
    char path[sizeof(err->text)];
    size_t len = path_length(err);

    memcpy(path, err->text, len);
    path[len] = '\0';
    if (!param && len > 0)
        param = path;
    http_error_write(&(struct http_error){ .status = status,
                                           .message = err->text,
                                           .type = type_of(status),
                                           .param = param,
                                           .code = err->code },
                     body);
}
