/* model_head.c - where a request to an endpoint goes, and its headers. */
#include "consumer/model/model_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operator has a header of that name: line is "Name: ...". */
static bool names(const struct model_endpoint *endpoint, const char *line)
{
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, ":"), line);
    return headers_have(&endpoint->headers, name);
}

static char *key_line(const struct model_endpoint *endpoint)
{
    const char *header = endpoint->dialect->key_header;
    const char *place = strstr(header, "%s");
    char *line = NULL;

    /* "Authorization" and "x-api-key" may be among the operator's own. */
    if (names(endpoint, header))
        return NULL;
    if (endpoint->key && asprintf(&line, "%.*s%s", (int)(place - header),
                                  header, endpoint->key) < 0)
        abort();
    return line;
}

void model_head_make(struct model_head *head,
                     const struct model_endpoint *endpoint, const char *path)
{
    size_t count = 2;

    *head = (struct model_head){
        .key = key_line(endpoint),
        .lines = { "Content-Type: application/json",
                   "Accept: text/event-stream, application/json" },
    };
    if (asprintf(&head->url, "%s%s%s%s", endpoint->url, path,
                 !endpoint->query    ? ""
                 : strchr(path, '?') ? "&"
                                     : "?",
                 endpoint->query ? endpoint->query : "") < 0)
        abort();
    if (endpoint->dialect->header &&
        !names(endpoint, endpoint->dialect->header))
        head->lines[count++] = endpoint->dialect->header;
    for (size_t i = 0; endpoint->headers.lines[i]; i++)
        head->lines[count++] = endpoint->headers.lines[i];
    head->lines[count] = head->key;
}

void model_head_finish(struct model_head *head)
{
    free(head->url);
    free(head->key);
    *head = (struct model_head){ 0 };
}
