/* hooks.c - webhooks of the caller's tenant, for keys with the scope admin. The
 * gateway's login may write their secrets but need not be able to read them: so
 * a rotation ends the old secret at once, and a list does not count them. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"

/* The error of libquern, as this route says it. */
static bool hooks_fail(struct operate_call *call)
{
    /* What Redis says when a function touches a key that its caller may not. */
    if (strstr(call->error.text, "can't access at least one of the keys"))
        return operate_wrong(call, "not_offered",
                             "the gateway's login in Redis may not write the "
                             "secrets of webhooks: an operator changes them by "
                             "quern hook");
    return false;
}

/* The same where the path names one. */
static bool hooks_fail_named(struct operate_call *call)
{
    return operate_is_unknown(call, "hook") ? operate_unknown(call, "hook")
                                            : hooks_fail(call);
}

static bool hooks_run_list(struct operate_call *call, struct quern *quern)
{
    struct quern_hooks hooks;
    json_t *list, *one;

    if (!quern_hooks_public(quern, call->tenant, &hooks, &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < hooks.count; i++) {
        one = operate_hook_json(&hooks.items[i]);
        json_object_del(one, "secrets");
        json_array_append_new(list, one);
    }
    free(hooks.items);
    return operate_answer_list(call, "hooks", list);
}

void hooks_list(struct api_request *request)
{
    operate_call(request, hooks_run_list, NULL);
}

static bool hooks_run_add(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { "url", "name", "events", NULL };
    struct quern_new_hook wanted;
    struct quern_hook_key key;

    if (!operate_only(call, names) || !operate_text(call, "url", &wanted.url) ||
        !operate_text(call, "name", &wanted.name) ||
        !operate_text(call, "events", &wanted.events))
        return false;
    if (!quern_hook_add(quern, call->tenant, &wanted, &key, &call->error))
        return hooks_fail(call);
    snprintf(call->name, sizeof(call->name), "%s", key.id);
    call->status = 201;
    call->answer =
        json_pack("{s:s, s:s}", "hook", key.id, "secret", key.secret);
    return true;
}

void hooks_add(struct api_request *request)
{
    operate_call(request, hooks_run_add, "hook.add");
}

static bool hooks_run_rotate(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { NULL };
    char secret[QUERN_HOOK_SECRET];

    if (!operate_only(call, names))
        return false;
    if (!quern_hook_rotate(quern, call->tenant, call->name, 0, secret,
                           &call->error))
        return hooks_fail_named(call);
    call->answer =
        json_pack("{s:s, s:s}", "hook", call->name, "secret", secret);
    return true;
}

void hooks_rotate(struct api_request *request)
{
    operate_call(request, hooks_run_rotate, "hook.rotate");
}

/* One of the calls that need only a name. done: how the answer calls it. */
static bool hooks_do(struct operate_call *call, struct quern *quern,
                     bool (*act)(struct quern *quern, const char *tenant,
                                 const char *id, struct quern_error *error),
                     const char *done)
{
    static const char *const names[] = { NULL };

    if (!operate_only(call, names))
        return false;
    if (!act(quern, call->tenant, call->name, &call->error))
        return hooks_fail_named(call);
    call->answer = json_pack("{s:s, s:b}", "hook", call->name, done, (int)true);
    return true;
}

static bool hooks_run_enable(struct operate_call *call, struct quern *quern)
{
    return hooks_do(call, quern, quern_hook_enable, "enabled");
}

void hooks_enable(struct api_request *request)
{
    operate_call(request, hooks_run_enable, "hook.enable");
}

static bool hooks_run_test(struct operate_call *call, struct quern *quern)
{
    return hooks_do(call, quern, quern_hook_test, "sent");
}

void hooks_test(struct api_request *request)
{
    operate_call(request, hooks_run_test, "hook.test");
}

static bool hooks_run_remove(struct operate_call *call, struct quern *quern)
{
    return hooks_do(call, quern, quern_hook_remove, "removed");
}

void hooks_remove(struct api_request *request)
{
    operate_call(request, hooks_run_remove, "hook.remove");
}
