/* signature.c - signs requests, so that the operator's own servers can check
 * them. */
#include "consumer/tools/signature.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"

enum {
    LEAST_SECRET = 16,
    MOST_SECRET = 256,
    MOST_LINE = 8 << 10,
    SHA256_LEN = 32,
};

/* ------------------------------------------------------------- what is set */

static bool read_secret(struct signing_key *signing, const json_t *value,
                        struct err *err)
{
    CLEANUP(buf_finish) struct buf secret;
    buf_init(&secret, MOST_SECRET + 1);
    if (!json_is_string(value))
        return entry_bad(err, "secret: must be a text");
    if (!headers_expand(json_string_value(value), &secret, err))
        return err_prefix(err, "secret");
    if (secret.len < LEAST_SECRET || !buf_ok(&secret) ||
        secret.len > MOST_SECRET)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "secret: must have %d to %d bytes", LEAST_SECRET,
                       MOST_SECRET);
    signing->secret = view_dup(buf_view(&secret));
    return true;
}

/* Signature-Input has it in quotes, so it must contain none. */
static bool read_key_id(struct signing_key *signing, const json_t *value,
                        struct err *err)
{
    const char *text = json_string_value(value);
    if (!text || !entry_name_is_good(text))
        return entry_bad_value(err, "key_id", value,
                               "1 to 64 of A-Z a-z 0-9 _ -");
    signing->key_id = view_dup(view_of(text));
    return true;
}

bool signing_read(struct signing_key *signing, struct headers *headers,
                  const json_t *value, struct err *err)
{
    const char *member;
    json_t *item;
    if (!json_is_object(value))
        return entry_bad(err, "must be an object {secret, key_id}");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)value, member, item) {
        bool is_secret = strcmp(member, "secret") == 0;
        if (!is_secret && strcmp(member, "key_id") != 0)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "%.64s: unknown; there are secret, key_id", member);
        if (!(is_secret ? read_secret : read_key_id)(signing, item, err))
            return false;
    }
    if (!signing->secret)
        return entry_bad(err, "secret is missing");
    if (!signing->key_id)
        signing->key_id = view_dup(VIEW("quern"));
    headers_add_secret(headers, view_of(signing->secret));
    return true;
}

void signing_finish(struct signing_key *signing)
{
    if (signing->secret)
        explicit_bzero(signing->secret, strlen(signing->secret));
    free(signing->secret);
    free(signing->key_id);
    *signing = (struct signing_key){ 0 };
}

/* --------------------------------------------------------------- signature */

static void add_base64(struct buf *out, const unsigned char hash[SHA256_LEN])
{
    unsigned char text[4 * ((SHA256_LEN + 2) / 3) + 1];
    int len = EVP_EncodeBlock(text, hash, SHA256_LEN);
    buf_append(out, (const char *)text, (size_t)len);
}

static void add_digest(struct header_lines *lines, struct view body)
{
    unsigned char hash[SHA256_LEN];
    CLEANUP(buf_finish) struct buf line;
    if (!EVP_Digest(body.data, body.len, hash, NULL, EVP_sha256(), NULL))
        abort();
    buf_init(&line, 128);
    buf_printf(&line, "Content-Digest: sha-256=:");
    add_base64(&line, hash);
    buf_add(&line, VIEW(":"));
    header_lines_add(lines, buf_view(&line));
}

/* RFC 9421, 2.5: the signature base, a line for each component that is signed,
 * and the list of the components' names. */
struct signature_base {
    struct buf base, list;
};

static void cover(struct signature_base *covering, struct view name,
                  struct view value)
{
    buf_printf(&covering->base, "\"%.*s\": %.*s\n", VIEW_ARG(name),
               VIEW_ARG(value));
    buf_printf(&covering->list, "%s\"%.*s\"", covering->list.len > 0 ? " " : "",
               VIEW_ARG(name));
}

/* A missing path counts as "/", a missing query as "?": RFC 9421, 2.2.6 and
 * 2.2.7. */
static void cover_url(struct signature_base *covering, const char *url)
{
    const char *path = strstr(url, "//") + 2;
    path += strcspn(path, "/?");
    size_t len = strcspn(path, "?");
    const char *query = path[len] == '?' ? path + len : "?";
    cover(covering, VIEW("@path"),
          len > 0 ? (struct view){ path, len } : VIEW("/"));
    cover(covering, VIEW("@query"), view_of(query));
}

/* "Name: value" */
static void cover_line(struct signature_base *covering, const char *line)
{
    size_t len = strcspn(line, ":");
    char *name = view_dup((struct view){ line, len });
    for (char *c = name; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    cover(covering, view_of(name), view_of(line + len + 2));
    free(name);
}

static void sign(const struct signing_key *signing,
                 struct signature_base *covering, int64_t created,
                 struct header_lines *lines)
{
    unsigned char mac[SHA256_LEN];
    CLEANUP(buf_finish) struct buf params, line;
    buf_init(&params, MOST_LINE);
    buf_init(&line, MOST_LINE);
    buf_printf(&params, "(%.*s);created=%lld;keyid=\"%s\";alg=\"hmac-sha256\"",
               VIEW_ARG(buf_view(&covering->list)), (long long)created,
               signing->key_id);
    buf_printf(&covering->base, "\"@signature-params\": %.*s",
               VIEW_ARG(buf_view(&params)));
    if (!HMAC(EVP_sha256(), signing->secret, (int)strlen(signing->secret),
              (const unsigned char *)covering->base.data, covering->base.len,
              mac, NULL))
        abort();
    buf_printf(&line, "Signature-Input: quern=%.*s",
               VIEW_ARG(buf_view(&params)));
    header_lines_add(lines, buf_view(&line));
    buf_truncate(&line, 0);
    buf_printf(&line, "Signature: quern=:");
    add_base64(&line, mac);
    buf_add(&line, VIEW(":"));
    header_lines_add(lines, buf_view(&line));
}

void signing_write(const struct signing_key *signing,
                   const struct signed_request *request,
                   struct header_lines *lines)
{
    struct signature_base covering;
    if (!signing->secret)
        return;
    buf_init(&covering.base, SIZE_MAX);
    buf_init(&covering.list, SIZE_MAX);
    cover(&covering, VIEW("@method"), view_of(request->method));
    cover_url(&covering, request->url);
    if (request->body.len > 0) {
        add_digest(lines, request->body);
        cover_line(&covering, lines->items[lines->count - 1]);
    }
    for (size_t i = 0; request->identity && i < request->identity->count; i++)
        cover_line(&covering, request->identity->items[i]);
    sign(signing, &covering, request->created, lines);
    buf_finish(&covering.base);
    buf_finish(&covering.list);
}
