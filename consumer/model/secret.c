/* secret.c - what must not be told. */
#include "consumer/model/secret.h"

#include <string.h>

void secret_hide(char *text, const char *secret)
{
    size_t len = secret ? strlen(secret) : 0;
    size_t end;

    for (char *at = text; len > 0 && (at = strstr(at, secret)); at += len)
        memset(at, '*', len);
    end = strlen(text);
    for (size_t part = len < end ? len : end; part > 3; part--)
        if (strncmp(text + end - part, secret, part) == 0)
            memset(text + end - part, '*', part);
}
