/* price.c - what a model's tokens cost. */
#include "consumer/model/price.h"

#include <math.h>
#include <string.h>

enum { MAX_PRICE = 1000000 };

/* A number that JSON holds exactly. */
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

bool price_read(struct price *price, const json_t *json, struct err *err)
{
    struct price read = {
        .known = true, .input = -1, .cached = -1, .output = -1
    };
    const char *name;
    json_t *value;

    if (!json_is_object(json))
        return bad_price(err, "must be an object: input, cached, output");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)json, name, value) {
        double *part = strcmp(name, "input") == 0    ? &read.input
                       : strcmp(name, "cached") == 0 ? &read.cached
                       : strcmp(name, "output") == 0 ? &read.output
                                                     : NULL;
        if (!part)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "price: there is no \"%.40s\": input, cached, "
                           "output",
                           name);
        if (!read_part(part, name, value, err))
            return false;
    }
    if (read.input < 0 || read.output < 0)
        return bad_price(err, "input and output are needed");
    if (read.cached < 0)
        read.cached = read.input;
    *price = read;
    return true;
}

json_t *price_write(const struct price *price)
{
    return json_pack("{s:f, s:f, s:f}", "input", price->input, "cached",
                     price->cached, "output", price->output);
}

/* Up, but for what only counting in twos has made of it. */
static uint64_t whole(double micro)
{
    double up = ceil(micro - 1e-6);

    if (!(up > 0))
        return 0;
    return up < most ? (uint64_t)up : (uint64_t)most;
}

uint64_t price_of(const struct price *price, uint64_t input, uint64_t cached,
                  uint64_t output)
{
    uint64_t again = cached < input ? cached : input;

    return whole((double)(input - again) * price->input +
                 (double)again * price->cached +
                 (double)output * price->output);
}

uint64_t price_buys(const struct price *price, uint64_t cost)
{
    double tokens = price->output > 0 ? (double)cost / price->output : most;

    return tokens < most ? (uint64_t)tokens : (uint64_t)most;
}

uint64_t price_micro(double dollars)
{
    return whole(dollars * 1e6);
}
