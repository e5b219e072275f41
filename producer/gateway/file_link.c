/* file_link.c - links to files of jobs, which open without a key. */
#include "producer/gateway/file_link.h"

#include <stdio.h>
#include <time.h>

#include "producer/client/fleet.h"

static uint64_t now_s(void)
{
    return (uint64_t)time(NULL);
}

void file_link_base(const struct api_request *request,
                    char base[LINK_BASE_BYTES])
{
    const struct gateway *gateway = request->gateway;
    const char *public_url = gateway->settings.public_url;
    bool is_tls =
        gateway->tls && *http_request_address(request->exchange) != '\0';
    struct view host;
    struct err err;
    int len;

    *base = '\0';
    if (*public_url) {
        snprintf(base, LINK_BASE_BYTES, "%s", public_url);
        return;
    }
    if (!http_request_value(request->exchange, "Host", &host, &err) ||
        host.len == 0)
        return;
    len = snprintf(base, LINK_BASE_BYTES, "%s://%.*s",
                   is_tls ? "https" : "http", VIEW_ARG(host));
    if (len >= LINK_BASE_BYTES)
        *base = '\0';
}

bool file_link_write(const struct gateway *gateway, const char *base,
                     struct view job, enum link_kind kind, struct view name,
                     char url[LINK_URL_BYTES])
{
    struct file_link target = {
        .kind = kind,
        .expires_at = now_s() + gateway->settings.link_ttl_ms / 1000,
    };
    char token[LINK_TOKEN_BYTES];

    if (name.len > MAX_FILE_NAME_BYTES)
        return false;
    view_copy(target.job, sizeof(target.job), job);
    view_copy(target.name, sizeof(target.name), name);
    if (!link_token_write(token, &target, gateway->link_secret))
        return false;
    snprintf(url, LINK_URL_BYTES, "%s/v1/links/%s", base, token);
    return true;
}

bool file_link_read(const struct gateway *gateway, struct view token,
                    struct file_link *target)
{
    return link_token_read(target, token, gateway->link_secret, now_s());
}

uint64_t file_link_seconds(const struct file_link *target)
{
    uint64_t now = now_s();

    return target->expires_at > now ? target->expires_at - now : 0;
}

void file_link_refuse(struct api_request *request)
{
    struct err err;

    err_set(&err, ERR_REJECT, "unknown_link",
            "this link opens nothing: it has expired, its file is gone, or it "
            "never was one");
    api_request_refuse_as(request, 404, &err, 0);
}
