/* keys.c - keys of the gateway, made and removed by a key with the scope admin:
 * of any tenant, but never with a scope that it has not itself. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/operate/call.h"
#include "producer/gateway/operate/operate.h"

enum { GRACE_MS = 24 * 3600 * 1000 }; /* of a key that was replaced */
#define MOST_LIFE_MS (UINT64_C(3660) * 24 * 3600 * 1000)

/* scopes: words. Without a sentence of its own, libquern refuses a word that is
 * none. */
static bool has_scopes(struct operate_call *call, const char *scopes)
{
    while (*scopes) {
        size_t len = strcspn(scopes, ", ");
        enum scope scope = scope_of_word((struct view){ scopes, len });

        if (scope != SCOPE_NONE && !(call->scopes & scope))
            return operate_wrong(call, "missing_scope",
                                 "the key of this request does not have the "
                                 "scope \"%s\", so it makes, replaces and "
                                 "removes no keys that have it",
                                 scope_word(scope));
        scopes += len + (scopes[len] != '\0');
    }
    return true;
}

/* Finds the key that the path names, and whether the caller may act on it. */
static bool key_is_mine(struct operate_call *call, struct quern *quern)
{
    struct quern_key key;

    if (!quern_key_show(quern, call->name, &key, &call->error))
        return operate_is_unknown(call, "key") ? operate_unknown(call, "key")
                                               : false;
    return has_scopes(call, key.scopes);
}

static bool keys_answer_new(struct operate_call *call,
                            const struct quern_key *key, const char *secret)
{
    call->status = 201;
    call->answer = operate_key_json(key);
    json_object_set_new(call->answer, "secret", json_string(secret));
    return true;
}

/* ------------------------------------------------------------------- the list
 */

static bool keys_run_list(struct operate_call *call, struct quern *quern)
{
    struct quern_keys keys;
    json_t *list;

    if (!quern_keys(quern, *call->of_tenant ? call->of_tenant : NULL, &keys,
                    &call->error))
        return false;
    list = json_array();
    for (size_t i = 0; i < keys.count; i++)
        json_array_append_new(list, operate_key_json(&keys.items[i]));
    free(keys.items);
    return operate_answer_list(call, "keys", list);
}

void keys_list(struct api_request *request)
{
    operate_call(request, keys_run_list, NULL);
}

/* -------------------------------------------------------------------- changes
 */

/* The members of the body; wanted borrows from it. */
static bool read_wanted(struct operate_call *call, struct quern_new_key *wanted)
{
    static const char *const names[] = { "tenant", "name", "scopes", "life_ms",
                                         "rate",   "jobs", "cost",   NULL };

    if (!operate_only(call, names) ||
        !operate_text(call, "tenant", &wanted->tenant) ||
        !operate_text(call, "name", &wanted->name) ||
        !operate_text(call, "scopes", &wanted->scopes) ||
        !operate_number(call, "life_ms", MOST_LIFE_MS, &wanted->life_ms) ||
        !operate_number(call, "rate", QUERN_KEY_MOST_RATE, &wanted->rate) ||
        !operate_number(call, "jobs", QUERN_KEY_MOST_JOBS, &wanted->jobs) ||
        !operate_number(call, "cost", QUERN_KEY_MOST_COST, &wanted->cost))
        return false;
    if (*wanted->scopes == '\0')
        wanted->scopes = "submit read";
    return has_scopes(call, wanted->scopes);
}

static bool keys_run_add(struct operate_call *call, struct quern *quern)
{
    struct quern_new_key wanted;
    char secret[QUERN_KEY];
    struct quern_key key;

    if (!read_wanted(call, &wanted) ||
        !quern_key_add(quern, &wanted, &key, secret, &call->error))
        return false;
    snprintf(call->name, sizeof(call->name), "%s", key.id);
    return keys_answer_new(call, &key, secret);
}

void keys_add(struct api_request *request)
{
    operate_call(request, keys_run_add, "key.add");
}

static bool keys_run_rotate(struct operate_call *call, struct quern *quern)
{
    static const char *const names[] = { "grace_ms", NULL };
    bool is_given = json_object_get(call->body, "grace_ms");
    char secret[QUERN_KEY];
    struct quern_key key;
    uint64_t grace_ms;

    if (!operate_only(call, names) ||
        !operate_number(call, "grace_ms", QUERN_KEY_MOST_GRACE, &grace_ms) ||
        !key_is_mine(call, quern) ||
        !quern_key_rotate(quern, call->name, is_given ? grace_ms : GRACE_MS,
                          &key, secret, &call->error))
        return false;
    return keys_answer_new(call, &key, secret);
}

void keys_rotate(struct api_request *request)
{
    operate_call(request, keys_run_rotate, "key.rotate");
}

static bool keys_run_remove(struct operate_call *call, struct quern *quern)
{
    if (!key_is_mine(call, quern) ||
        !quern_key_remove(quern, call->name, &call->error))
        return false;
    call->answer =
        json_pack("{s:s, s:b}", "key", call->name, "removed", (int)true);
    return true;
}

void keys_remove(struct api_request *request)
{
    operate_call(request, keys_run_remove, "key.remove");
}
