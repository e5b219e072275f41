/* sampling.c - the parameters with which a job's model writes. */
#include "consumer/model/sampling.h"

#include <string.h>

#include "schemas/message/sampling.h"

/* ---------------------------------------------------------- the operator's */

static bool is_range(const json_t *rule)
{
    const json_t *least = json_array_get(rule, 0);
    const json_t *most = json_array_get(rule, 1);

    return json_array_size(rule) == 2 && json_is_number(least) &&
           json_is_number(most) &&
           json_number_value(least) <= json_number_value(most);
}

static bool are_words(const json_t *rule)
{
    const json_t *word;
    size_t i;

    json_array_foreach(rule, i, word)
        if (!json_is_string(word))
            return false;
    return json_array_size(rule) > 0;
}

static bool is_drop(const json_t *rule)
{
    const char *word = json_string_value(rule);

    return word && strcmp(word, "drop") == 0;
}

static bool rule_fits(const struct sampling *one, const json_t *rule)
{
    if (json_is_boolean(rule) || is_drop(rule))
        return true;
    if (!one || one->kind == SAMPLING_STOP)
        return false;
    return one->kind == SAMPLING_WORD ? are_words(rule) : is_range(rule);
}

bool sampling_check_rules(const json_t *allow, struct err *err)
{
    const char *name;
    json_t *rule;

    if (!json_is_object(allow))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "job_parameters: must be an object");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)allow, name, rule) {
        const struct sampling *one = sampling_find(view_of(name));

        if (!one && strcmp(name, "*") != 0)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "job_parameters: there is no \"%.40s\"", name);
        if (!rule_fits(one, rule))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "job_parameters: %s must be true, false, \"drop\"%s",
                           name,
                           !one || one->kind == SAMPLING_STOP ? ""
                           : one->kind == SAMPLING_WORD ? " or a list of words"
                                                        : " or [least, most]");
    }
    return true;
}

/* NULL: allowed. */
static const json_t *rule_of(const struct model_endpoint *endpoint,
                             const char *name)
{
    const json_t *rule = json_object_get(endpoint->job_parameters, name);

    return rule ? rule : json_object_get(endpoint->job_parameters, "*");
}

static bool sampling_has_word(const json_t *words, const json_t *word)
{
    const json_t *one;
    size_t i;

    json_array_foreach(words, i, one)
        if (json_equal(one, word))
            return true;
    return false;
}

bool sampling_is_allowed(const struct model_endpoint *endpoint, json_t *wishes,
                         struct err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(wishes, name, value) {
        const json_t *rule = rule_of(endpoint, name);

        if (json_is_false(rule))
            return err_set(err, ERR_REJECT, "bad_field",
                           "parameters.%.40s: the operator does not allow it "
                           "for model %s",
                           name, endpoint->name);
        if (json_is_string(value) && json_is_array(rule) &&
            !sampling_has_word(rule, value))
            return err_set(err, ERR_REJECT, "bad_field",
                           "parameters.%.40s: the operator does not allow "
                           "\"%.40s\" for model %s",
                           name, json_string_value(value), endpoint->name);
    }
    return true;
}

/* ----------------------------------------------------------- the request's */

/* Whether the endpoint has refused that parameter before. */
static bool is_refused(const struct model_endpoint *endpoint, const char *name)
{
    static const struct {
        const char *name;
        unsigned quirk;
    } known[] = {
        { "temperature", QUIRK_NO_TEMPERATURE },
        { "top_p", QUIRK_NO_TOP_P },
        { "seed", QUIRK_NO_SEED },
        { "stop", QUIRK_NO_STOP },
        { "reasoning_effort", QUIRK_NO_EFFORT },
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, name) == 0)
            return endpoint_has(endpoint, known[i].quirk);
    return endpoint_has(endpoint, QUIRK_NO_SAMPLING);
}

/* The value, or the bound that it exceeds. A new reference. */
static json_t *bounded(const json_t *rule, json_t *value)
{
    if (!json_is_number(value) || !is_range(rule))
        return json_incref(value);
    for (size_t i = 0; i < 2; i++) {
        json_t *bound = json_array_get(rule, i);
        double over = json_number_value(value) - json_number_value(bound);

        if (i == 0 ? over < 0 : over > 0)
            return json_incref(bound);
    }
    return json_incref(value);
}

json_t *sampling_of(const struct model_endpoint *endpoint, json_t *wishes)
{
    const char *name;
    json_t *all, *value;

    if (json_object_size(wishes) == 0)
        return json_incref(endpoint->parameters);
    all = endpoint->parameters ? json_deep_copy(endpoint->parameters)
                               : json_object();
    json_object_foreach(wishes, name, value) {
        const json_t *rule = rule_of(endpoint, name);
        json_t *fit;

        if (is_drop(rule) || json_is_false(rule) || is_refused(endpoint, name))
            continue;
        fit = bounded(rule, value);
        endpoint->dialect->set_parameter(all, name, fit);
        json_decref(fit);
    }
    return all;
}
