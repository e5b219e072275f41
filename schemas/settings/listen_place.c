/* listen_place.c - reads where a program listens. */
#include "schemas/settings/listen_place.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/view.h"

static bool is_loopback(const char *address)
{
    struct in6_addr v6;

    return strncmp(address, "127.", 4) == 0 ||
           (inet_pton(AF_INET6, address, &v6) == 1 &&
            IN6_IS_ADDR_LOOPBACK(&v6));
}

/* "127.0.0.1:8088", "[::1]:8088" */
static bool read_address(struct view text, struct listen_place *place)
{
    char copy[80], *end, *host = copy;
    unsigned char binary[16];

    if (text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    char *colon = strrchr(copy, ':');
    if (!colon)
        return false;
    *colon = '\0';
    if (*host == '[') {
        if (colon - host < 2 || colon[-1] != ']')
            return false;
        colon[-1] = '\0';
        host++;
    }
    if (strlen(host) >= sizeof(place->address) ||
        inet_pton(strchr(host, ':') ? AF_INET6 : AF_INET, host, binary) != 1 ||
        colon[1] < '0' || colon[1] > '9')
        return false;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || port > UINT16_MAX)
        return false;
    memcpy(place->address, host, strlen(host) + 1);
    place->port = (uint16_t)port;
    place->is_local = is_loopback(host);
    return true;
}

static bool read_place(struct view text, struct listen_place *place,
                       struct err *err)
{
    static const char unix_word[] = "unix:";
    size_t skip = sizeof(unix_word) - 1;

    *place = (struct listen_place){ .port = 0 };
    if (!view_starts(text, unix_word))
        return read_address(text, place) ||
               err_set(err, ERR_REJECT, "bad_setting",
                       "\"%.*s\" must be a numeric address with a port, as "
                       "127.0.0.1:8088 or [::1]:8088, or unix:/path",
                       VIEW_ARG(view_head(text, 100)));
    if (text.len == skip || text.len - skip >= sizeof(place->path))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "the path of unix: has %zu bytes, should have 1 to %zu",
                       text.len - skip, sizeof(place->path) - 1);
    memcpy(place->path, text.data + skip, text.len - skip);
    place->is_local = true;
    return true;
}

bool listen_place_read(const char **list, struct listen_place *place,
                       struct err *err)
{
    const char *text = *list;
    size_t len = strcspn(text, ",");

    if (*text == '\0')
        return false;
    *list = text + len + (text[len] == ',');
    return read_place(view_trimmed((struct view){ text, len }), place, err);
}

bool listen_place_check(const char *text, struct err *err)
{
    struct listen_place place;
    if (strchr(text, ','))
        return err_set(err, ERR_REJECT, "bad_setting", "must be one place");
    return listen_place_read(&text, &place, err);
}
