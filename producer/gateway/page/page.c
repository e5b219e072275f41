/* page.c - the table of the page's routes; the files of the page. */
#include "producer/gateway/page/page.h"

#include <string.h>

#include "producer/gateway/api_request.h"

/* Nothing inline, nothing of another origin, no text that becomes HTML: what
 * models and code have written cannot run, wherever the page shows it. */
static const char POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob: data:; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "worker-src 'self'; require-trusted-types-for 'script'; "
    "trusted-types quern-reader";

/* Of the empty page that the page fills with HTML which code has displayed: no
 * scripts, no way to any address. */
static const char FRAME_POLICY[] =
    "sandbox allow-same-origin; default-src 'none'; img-src data:; "
    "font-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'";

static struct view policy_of(const struct page_file *file)
{
    return view_of(strcmp(file->name, "frame.html") == 0 ? FRAME_POLICY
                                                         : POLICY);
}

static struct view header_of(const struct api_request *request,
                             const char *name)
{
    struct view value;
    struct err err;

    return http_request_value(request->exchange, name, &value, &err) ? value
                                                                     : VIEW("");
}

static bool has_text(struct view value, const char *text)
{
    return value.len > 0 &&
           memmem(value.data, value.len, text, strlen(text)) != NULL;
}

static void page_show_file(struct api_request *request,
                           const struct page_file *file)
{
    bool is_known = has_text(header_of(request, "If-None-Match"), file->etag);
    bool is_gzip = has_text(header_of(request, "Accept-Encoding"), "gzip");
    const struct http_pair headers[] = {
        { VIEW("Content-Type"), view_of(file->type) },
        { VIEW("Cache-Control"), VIEW("no-cache") },
        { VIEW("ETag"), view_of(file->etag) },
        { VIEW("Vary"), VIEW("Accept-Encoding") },
        { VIEW("Content-Security-Policy"), policy_of(file) },
        { VIEW("X-Content-Type-Options"), VIEW("nosniff") },
        { VIEW("X-DNS-Prefetch-Control"), VIEW("off") }, /* hosts of links */
        { VIEW("Referrer-Policy"), VIEW("no-referrer") },
        { VIEW("Cross-Origin-Opener-Policy"), VIEW("same-origin") },
        { VIEW("Cross-Origin-Resource-Policy"), VIEW("same-origin") },
        { VIEW("Permissions-Policy"),
          VIEW("camera=(), geolocation=(), microphone=()") },
        { VIEW("Content-Encoding"), VIEW("gzip") }, /* the last one */
    };
    unsigned int count = sizeof(headers) / sizeof(headers[0]);
    struct view body = { is_gzip ? file->gzip : file->bytes,
                         is_gzip ? file->gzip_length : file->length };

    if (is_known)
        body.len = 0;
    api_request_answer(request, is_known ? 304 : 200, headers,
                       is_gzip && !is_known ? count : count - 1, body);
}

static void show_named(struct api_request *request, struct view name)
{
    for (const struct page_file *file = page_files; file->name; file++)
        if (view_is(name, file->name)) {
            page_show_file(request, file);
            return;
        }
    api_request_unknown(request, "file", name);
}

static void show_page(struct api_request *request)
{
    show_named(request, VIEW("index.html"));
}

static void show_part(struct api_request *request)
{
    show_named(request, request->params[0]);
}

enum { SIGN_IN_BYTES = 1024 };

static const struct api_route routes[] = {
    { .method = HTTP_METHOD_GET, .pattern = "/", .handle = show_page },
    { .method = HTTP_METHOD_GET,
      .pattern = "/page/{file}",
      .handle = show_part },
    { .method = HTTP_METHOD_GET,
      .pattern = "/v1/me",
      .scope = SCOPE_READ,
      .handle = page_me },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/sign-in",
      .handle = page_sign_in,
      .body = ROUTE_JSON_NEEDED,
      .max_body = SIGN_IN_BYTES },
    { .method = HTTP_METHOD_POST,
      .pattern = "/v1/sign-out",
      .handle = page_sign_out,
      .body = ROUTE_JSON,
      .max_body = SIGN_IN_BYTES },
};

const struct route_table page_routes = {
    routes,
    sizeof(routes) / sizeof(routes[0]),
    "page",
};
