/* fuzz_address.c - any URL is an address that prints and copies, or a sentence.
 */
#include <string.h>

#include "schemas/redis/address.h"
#include "tests/fuzz/fuzz.h"

static void check_nodes(const struct address *address)
{
    MUST(address->node_count >= 1 && address->node_count <= ADDRESS_MAX_NODES);
    MUST(address->kind != ADDRESS_SERVER || address->node_count == 1);
    for (size_t i = 0; i < address->node_count; i++) {
        const struct node *node = &address->nodes[i];
        MUST(strlen(node->host) <= NODE_MAX_HOST);
        MUST(address->path ||
             (node->host[0] && node->port > 0 && node->port <= 65535));
    }
}

static void check_good(struct address *address)
{
    struct address copy;
    char print[512], again[512];

    check_nodes(address);
    MUST((address->kind == ADDRESS_SENTINEL) == (address->master != NULL));
    MUST(address->kind != ADDRESS_CLUSTER || address->db == 0);
    MUST(!address->user || address->password);
    address_copy(&copy, address);
    address_print(address, print, sizeof(print));
    address_finish(address);
    address_print(&copy, again, sizeof(again));
    MUST(strcmp(print, again) == 0);
    address_finish(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view url = { (const char *)data, size };
    struct err err = { .kind = ERR_NONE };
    struct address address;

    if (address_parse(&address, url, &err)) {
        MUST(err.kind == ERR_NONE);
        check_good(&address);
    } else {
        MUST(err.kind == ERR_REJECT && err.text[0] != '\0');
        MUST(strcmp(err.code, "bad_setting") == 0);
        MUST(!address.nodes && !address.password && !address.path);
    }
    return 0;
}
