/* sign_in.c - a key in a cookie of the browser, and whose it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/api_key.h"
#include "producer/gateway/access.h"
#include "producer/gateway/api_request.h"
#include "producer/gateway/browser.h"
#include "producer/gateway/page/page.h"
#include "schemas/json/convert.h"

static json_t *me_json(const struct api_request *request,
                       const struct access_caller *caller)
{
    json_t *scopes = json_array();

    for (unsigned int scope = SCOPE_SUBMIT; scope <= SCOPE_ADMIN; scope <<= 1)
        if (caller->scopes & scope)
            json_array_append_new(scopes,
                                  json_string(scope_word((enum scope)scope)));
    return json_pack("{s:s, s:o, s:b, s:s}", "tenant", caller->tenant, "scopes",
                     scopes, "open",
                     (int)(*request->gateway->settings.open_tenant != '\0'),
                     "version", quern_version());
}

static void answer_with_cookie(struct api_request *request, const char *key,
                               json_t *json)
{
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };
    char cookie[BROWSER_COOKIE_BYTES];
    struct http_pair headers[] = {
        { VIEW("Content-Type"), VIEW("application/json") },
        { VIEW("Cache-Control"), VIEW("no-store") },
        { VIEW("Set-Cookie"), VIEW("") },
    };

    json_add_text(&text, json);
    json_decref(json);
    browser_cookie_write(request->exchange, key, cookie);
    headers[2].value = view_of(cookie);
    api_request_answer(request, 200, headers, 3, buf_view(&text));
}

/* ---------------------------------------------------------------- sign in */

/* The state of the request. */
struct sign_in {
    char key[API_KEY_BYTES];
};

static void on_checked(void *owner, const struct access_outcome *outcome)
{
    struct api_request *request = owner;
    const struct sign_in *sign_in = request->state;

    if (!request->exchange) {
        /* It went away meanwhile. */
    } else if (!outcome->caller) {
        api_request_refuse_as(request, outcome->status, &outcome->err,
                              outcome->after_ms);
    } else {
        answer_with_cookie(request, sign_in->key,
                           me_json(request, outcome->caller));
    }
    api_request_drop(request);
}

void page_sign_in(struct api_request *request)
{
    json_t *body = api_request_object(request);
    const char *key;
    struct sign_in *sign_in;

    if (!body)
        return;
    key = json_string_value(json_object_get(body, "key"));
    if (!key || !api_key_is_sound(view_of(key)) ||
        json_object_size(body) != 1) {
        struct err err;

        err_set(
            &err, ERR_REJECT, "invalid_api_key",
            "the body should be {\"key\": \"qk_...\"}, with a key of quern: "
            "\"qk_\" and 36 letters and digits");
        json_decref(body);
        api_request_refuse_as(request, 401, &err, 0);
        return;
    }
    sign_in = calloc(1, sizeof(*sign_in));
    if (!sign_in)
        abort();
    snprintf(sign_in->key, sizeof(sign_in->key), "%s", key);
    json_decref(body);
    request->state = sign_in;
    request->state_free = free;
    api_request_hold(request);
    access_check_key(request->gateway->access, view_of(sign_in->key),
                     on_checked, request);
}

/* A form of another site could ask for it: that has no header of its own. */
void page_sign_out(struct api_request *request)
{
    struct view own = { "", 0 };
    struct err err;

    if (!http_request_value(request->exchange, "X-Quern-Page", &own, &err) ||
        own.len == 0) {
        err_set(&err, ERR_REJECT, "foreign_origin",
                "signing out is for the page: the request has no "
                "X-Quern-Page");
        api_request_refuse_as(request, 403, &err, 0);
        return;
    }
    answer_with_cookie(request, "", json_object());
}

void page_me(struct api_request *request)
{
    api_request_json(request, 200, me_json(request, &request->caller));
}
