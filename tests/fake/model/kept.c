/* kept.c - see kept.h. */
#include "kept.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct kept *kept_add(struct kept_list *list, const char *id, json_t *response,
                      json_t *rules)
{
    struct kept *kept = calloc(1, sizeof(*kept));

    assert(kept);
    kept->id = strdup(id);
    kept->response = response;
    kept->rules = json_incref(rules);
    LIST_INSERT_HEAD(list, kept, others);
    return kept;
}

void kept_finish(struct kept_list *list)
{
    while (!LIST_EMPTY(list)) {
        struct kept *kept = LIST_FIRST(list);

        LIST_REMOVE(kept, others);
        free(kept->id);
        json_decref(kept->response);
        json_decref(kept->rules);
        free(kept);
    }
}

void kept_heard(struct kept *kept, bool all)
{
    if (!kept || kept->background)
        return;
    kept->over = all;
    kept->lost = !all;
}

static struct kept *find(struct kept_list *list, const char *id)
{
    struct kept *kept;

    LIST_FOREACH(kept, list, others)
    if (!kept->lost && strcmp(kept->id, id) == 0)
        return kept;
    return NULL;
}

static bool is_over(const struct kept *kept, uint64_t now_ms)
{
    return kept->background ? now_ms >= kept->ready_ms : kept->over;
}

/* Takes the value. */
static struct kept_answer answer(unsigned status, json_t *value)
{
    struct kept_answer made = { status, json_dumps(value, JSON_COMPACT) };

    json_decref(value);
    return made;
}

static struct kept_answer refusal(unsigned status, const char *message)
{
    return answer(status, json_pack("{s:{s:s, s:s}}", "error", "message",
                                    message, "type", "practice"));
}

static struct kept_answer none(const char *id)
{
    json_t *text = json_sprintf("Response with id '%s' not found.", id);
    struct kept_answer made = refusal(404, json_string_value(text));

    json_decref(text);
    return made;
}

/* What is to be said of it this time; NULL: the truth. */
static const json_t *rule_of(const struct kept *kept)
{
    size_t count = json_array_size(kept->rules);
    size_t at = kept->fetched < count ? kept->fetched : count - 1;

    return count > 0 ? json_array_get(kept->rules, at) : kept->rules;
}

/* One that brings nothing: still being made, failed, cancelled. */
static struct kept_answer bare(const struct kept *kept, const char *state)
{
    json_t *response = json_deep_copy(kept->response);

    json_object_set_new(response, "status", json_string(state));
    json_object_set_new(response, "output", json_array());
    json_object_set_new(response, "usage", json_null());
    json_object_set_new(response, "incomplete_details", json_null());
    if (strcmp(state, "failed") == 0)
        json_object_set_new(response, "error",
                            json_pack("{s:s, s:s}", "code", "server_error",
                                      "message", "it did not work out"));
    return answer(200, response);
}

static struct kept_answer whole(const struct kept *kept, bool encrypted)
{
    json_t *response = json_deep_copy(kept->response), *item;
    size_t i;

    json_array_foreach(json_object_get(response, "output"), i, item)
        if (!encrypted)
            json_object_del(item, "encrypted_content");
    return answer(200, response);
}

struct kept_answer kept_get(struct kept_list *list, const char *id,
                            uint64_t now_ms, bool encrypted)
{
    struct kept *kept = find(list, id);
    const json_t *rule = kept ? rule_of(kept) : NULL;
    const char *state = json_string_value(json_object_get(rule, "state"));
    const char *body = json_string_value(json_object_get(rule, "body"));
    json_int_t status = json_integer_value(json_object_get(rule, "status"));

    if (!kept)
        return none(id);
    kept->fetched++;
    if (body)
        return (struct kept_answer){ 200, strdup(body) };
    if (status > 0)
        return refusal((unsigned)status, "not now");
    if (state)
        return bare(kept, state);
    if (kept->cancelled)
        return bare(kept, "cancelled");
    return is_over(kept, now_ms) ? whole(kept, encrypted)
                                 : bare(kept, "in_progress");
}

struct kept_answer kept_cancel(struct kept_list *list, const char *id,
                               uint64_t now_ms)
{
    struct kept *kept = find(list, id);

    if (!kept)
        return none(id);
    if (!kept->background)
        return refusal(400, "Only responses with background=true can be "
                            "cancelled.");
    kept->cancelled = kept->cancelled || !is_over(kept, now_ms);
    return bare(kept, "cancelled");
}
