/* model_request.c - a request as its endpoint takes it: body, URL, headers. */
#include "consumer/model/model_request.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- body */

/* Large, because messages hold all images of a conversation. */
enum { MAX_BODY = 64 << 20 };

uint64_t model_body_max_tokens(const struct model_endpoint *endpoint,
                               const struct model_request *request)
{
    return endpoint->dialect->max_tokens(endpoint, request);
}

static int model_request_write_piece(const char *data, size_t len, void *owner)
{
    return buf_append(owner, data, len) ? 0 : -1;
}

static void make_hash(char hash[65], struct view body)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    EVP_Digest(body.data, body.len, digest, &len, EVP_sha256(), NULL);
    for (unsigned i = 0; i < 32; i++)
        snprintf(hash + (size_t)i * 2, 3, "%02x", digest[i]);
}

bool model_body_make(struct buf *body, char hash[65],
                     const struct model_endpoint *endpoint,
                     const struct model_request *request, struct err *err)
{
    json_t *json = endpoint->dialect->write(endpoint, request);

    buf_finish(body);
    buf_init(body, MAX_BODY);
    /* 16 digits: 0.1 stays 0.1, and pi is as precise as it is in Python. */
    json_dump_callback(json, model_request_write_piece, body,
                       JSON_COMPACT | JSON_REAL_PRECISION(16));
    json_decref(json);
    if (!buf_ok(body))
        return err_set(err, ERR_REJECT, "too_large",
                       "the conversation is longer than %d bytes as JSON",
                       MAX_BODY);
    make_hash(hash, buf_view(body));
    return true;
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Whether the name is there as a word: "stream" is not in "stream_options". */
static bool mentions(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += len)
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return true;
    return false;
}

/* Whether the refusal names the parameter and says that it is not known. A
 * value out of bounds is another matter: without it the job would silently get
 * another one. */
static bool is_unknown(const struct reply_error *error, const char *name)
{
    static const char *const words[] = {
        "unsupported",   "not support", "unknown",     "unrecognized",
        "not permitted", "unexpected",  "not allowed", "only allowed",
    };

    if (strcmp(error->param, name) != 0 && !mentions(error->message, name))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(error->message, words[i]) ||
            strcasestr(error->code, words[i]))
            return true;
    return false;
}

static unsigned quirk_of(const struct dialect *dialect,
                         const struct reply_error *error)
{
    for (const struct dialect_lesson *lesson = dialect->lessons;
         lesson->parameter; lesson++)
        if (is_unknown(error, lesson->parameter))
            return lesson->quirk;
    if (strstr(error->message, "invalid message content type"))
        return QUIRK_NO_NULL_CONTENT;
    if (strstr(error->message, "must be non-empty"))
        return QUIRK_NO_EMPTY_CONTENT;
    return 0;
}

bool model_body_learn(struct model_endpoint *endpoint,
                      const struct reply_error *error)
{
    unsigned quirk = quirk_of(endpoint->dialect, error);
    bool news = quirk && !endpoint_has(endpoint, quirk);

    endpoint->quirks |= quirk;
    return news;
}

static bool model_request_has_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(text, *words))
            return true;
    return false;
}

/* Whether the status is about the request. Others are about the caller, the
 * rate
 * ("images per minute") or the endpoint's own trouble. llama.cpp is an
 * exception: it says with 500 that it was started without the file for images
 * (mmproj). */
static bool is_of_request(const struct reply_error *error, unsigned status)
{
    switch (status) {
    case 401:
    case 403:
    case 408:
    case 425:
    case 429:
        return false;
    default:
        return status < 500 || strcasestr(error->message, "mmproj");
    }
}

/* Whether any picture would be refused. Whole phrases: a mistake would keep all
 * pictures from this endpoint. */
static bool speaks_of_all(const struct reply_error *error)
{
    static const char *const words[] = {
        "only supported by certain models",
        "endpoints found that support image",
        "not support image input",
        "not support images",
        "not support image content",
        "not support vision",
        "not support multi",
        "model does not support it",
        "not accept image",
        "not allow image",
        "image input is not supported",
        "image inputs are not supported",
        "images are not supported",
        "vision is not supported",
        "not a multimodal model",
        "at most 0 image",
        "expected `text`",
        "supported values are: 'text'",
        "valid string",
        "mmproj",
        NULL,
    };

    return model_request_has_word(error->message, words);
}

/* Whether only this picture is refused, for its size, its format or damage. */
static bool speaks_of_one(const struct reply_error *error)
{
    static const char *const words[] = {
        "too large",
        "larger",
        "exceed",
        "too many",
        "dimension",
        "corrupt",
        "decode",
        "process",
        "unsupported image",
        "format",
        "mime",
        "media type",
        "valid image",
        "make sure your image",
        NULL,
    };

    return model_request_has_word(error->message, words);
}

bool model_body_learn_blind(struct model_endpoint *endpoint,
                            const struct reply_error *error, unsigned status)
{
    static const char *const pictures[] = { "image", "vision", "multimodal",
                                            "multi-modal", NULL };

    if (!is_of_request(error, status) ||
        !model_request_has_word(error->message, pictures))
        return false;
    if (speaks_of_all(error) && !speaks_of_one(error))
        endpoint->quirks |= QUIRK_BLIND;
    return true;
}

/* -------------------------------------------------------------------- head */

/* Whether the operator has set a header of the same name as line, "Name: ...".
 * Then it replaces ours. */
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
