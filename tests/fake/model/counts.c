/* counts.c - see counts.h. */
#include "counts.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_REQUESTS = 2048 };

void counts_init(struct counts *counts)
{
    *counts =
        (struct counts){ .by_hash = json_object(), .requests = json_array() };
}

void counts_finish(struct counts *counts)
{
    json_decref(counts->by_hash);
    json_decref(counts->requests);
}

static void hash_request(const json_t *request, char hex[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);

    EVP_Digest(text, strlen(text), digest, &len, EVP_sha256(), NULL);
    for (unsigned i = 0; i < len && i < 32; i++)
        snprintf(hex + (size_t)i * 2, 3, "%02x", digest[i]);
    free(text);
}

size_t counts_add(struct counts *counts, json_t *request)
{
    char hash[65] = "";
    json_int_t seen;

    hash_request(request, hash);
    seen = json_integer_value(json_object_get(counts->by_hash, hash));
    json_object_set_new(counts->by_hash, hash, json_integer(seen + 1));
    json_array_append(counts->requests, request);
    if (json_array_size(counts->requests) > KEPT_REQUESTS)
        json_array_remove(counts->requests, 0);
    counts->total++;
    return (size_t)seen;
}

json_t *counts_json(const struct counts *counts)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "total",
        (json_int_t)counts->total, "made", (json_int_t)counts->made, "fetched",
        (json_int_t)counts->fetched, "cancelled", (json_int_t)counts->cancelled,
        "different", (json_int_t)json_object_size(counts->by_hash), "open",
        (json_int_t)counts->open, "peak", (json_int_t)counts->peak, "requests",
        counts->by_hash);
}

json_t *counts_request(const struct counts *counts, long long number)
{
    long long kept = (long long)json_array_size(counts->requests);
    long long gone = (long long)counts->total - kept;
    long long at = number < 0 ? kept + number : number - gone;

    return at < 0 ? NULL : json_array_get(counts->requests, (size_t)at);
}
