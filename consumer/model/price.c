/* price.c - what a model's tokens cost. */
#include "consumer/model/price.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PRICE = 1000000 };

/* The largest integer that a double, and so JSON in most readers, holds
 * exactly. */
static const double most = (double)((UINT64_C(1) << 53) - 1);

static bool bad_price(struct err *err, const char *what)
{
    return err_set(err, ERR_REJECT, "bad_setting", "price: %s", what);
}

static bool read_part(double *part, const char *name, const json_t *value,
                      struct err *err)
{
    double given = json_number_value(value);

    if (!json_is_number(value) || !(given >= 0 && given <= (double)MAX_PRICE))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "price: %s must be dollars for a million tokens, 0 to "
                       "%d",
                       name, MAX_PRICE);
    *part = given;
    return true;
}

static double *part_of(struct price *price, const char *name)
{
    if (strcmp(name, "input") == 0)
        return &price->input;
    if (strcmp(name, "cached") == 0)
        return &price->cached;
    if (strcmp(name, "cache_write") == 0)
        return &price->written;
    return strcmp(name, "output") == 0 ? &price->output : NULL;
}

bool price_read(struct price *price, const json_t *json, struct err *err)
{
    struct price read = {
        .known = true, .input = -1, .cached = -1, .written = -1, .output = -1
    };
    const char *name;
    json_t *value;

    if (!json_is_object(json))
        return bad_price(err, "must be an object: input, cached, cache_write, "
                              "output");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)json, name, value) {
        double *part = part_of(&read, name);
        if (!part)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "price: there is no \"%.40s\": input, cached, "
                           "cache_write, output",
                           name);
        if (!read_part(part, name, value, err))
            return false;
    }
    if (read.input < 0 || read.output < 0)
        return bad_price(err, "input and output are needed");
    if (read.cached < 0)
        read.cached = read.input;
    if (read.written < 0)
        read.written = read.input;
    *price = read;
    return true;
}

json_t *price_write(const struct price *price)
{
    json_t *json = json_pack("{s:f, s:f, s:f}", "input", price->input, "cached",
                             price->cached, "output", price->output);

    if (price->written > price->input || price->written < price->input)
        json_object_set_new(json, "cache_write", json_real(price->written));
    return json;
}

/* Rounds up, but for the error of binary fractions: 3 times 0.1 is slightly
 * more than 0.3, and must not cost another micro-dollar. */
static uint64_t price_round_up(double micro)
{
    double up = ceil(micro - 1e-6);

    if (!(up > 0))
        return 0;
    return up < most ? (uint64_t)up : (uint64_t)most;
}

static uint64_t price_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t price_of(const struct price *price, struct price_tokens tokens)
{
    uint64_t cached = price_least(tokens.cached, tokens.input);
    uint64_t written = price_least(tokens.written, tokens.input - cached);

    return price_round_up(
        (double)(tokens.input - cached - written) * price->input +
        (double)cached * price->cached + (double)written * price->written +
        (double)tokens.output * price->output);
}

uint64_t price_at_most(const struct price *price, uint64_t input,
                       uint64_t output)
{
    bool dearer = price->written > price->input;
    const struct price_tokens tokens = { .input = input,
                                         .written = dearer ? input : 0,
                                         .output = output };
    return price_of(price, tokens);
}

uint64_t price_buys(const struct price *price, uint64_t cost)
{
    double tokens = price->output > 0 ? (double)cost / price->output : most;

    return tokens < most ? (uint64_t)tokens : (uint64_t)most;
}

uint64_t price_micro(double dollars)
{
    return price_round_up(dollars * 1e6);
}

struct price_text price_dollars(uint64_t micro)
{
    struct price_text said;
    int len = snprintf(said.text, sizeof(said.text), "$%llu.%06llu",
                       (unsigned long long)(micro / 1000000),
                       (unsigned long long)(micro % 1000000));

    for (int zeros = 0; zeros < 4 && said.text[len - 1] == '0'; zeros++)
        said.text[--len] = '\0';
    return said;
}
