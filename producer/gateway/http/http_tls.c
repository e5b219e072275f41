/* http_tls.c - the certificate and the key of a port that speaks TLS. */
#include "producer/gateway/http/http_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/tls/pem.h"

enum { SECURITY_LEVEL = 2 };

struct http_tls {
    char *certificate, *key; /* paths */
    SSL_CTX *context;        /* in force */
    struct err warning;      /* its text; none: "" */
};

/* ------------------------------------------------------------------- context
 */

static int choose_protocol(SSL *ssl, const unsigned char **chosen,
                           unsigned char *len, const unsigned char *offered,
                           unsigned int offered_len, void *owner)
{
    static const unsigned char ours[] = "\x08http/1.1";

    (void)ssl;
    (void)owner;
    for (unsigned int at = 0; at < offered_len; at += offered[at] + 1U)
        if (offered_len - at >= sizeof(ours) - 1 &&
            memcmp(offered + at, ours, sizeof(ours) - 1) == 0) {
            *chosen = offered + at + 1;
            *len = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *context_new(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (!context)
        abort();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_security_level(context, SECURITY_LEVEL);
    SSL_CTX_set_options(context,
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return context;
}

bool http_tls_reload(struct http_tls *tls, struct err *err)
{
    SSL_CTX *context = context_new();
    struct pem_notes notes;

    ERR_clear_error();
    if (!pem_load_identity(context, tls->certificate, tls->key, &notes, err)) {
        SSL_CTX_free(context);
        return false;
    }
    SSL_CTX_free(tls->context);
    tls->context = context;
    tls->warning = notes.warning;
    return true;
}

struct http_tls *http_tls_new(const char *certificate, const char *key,
                              struct err *err)
{
    struct http_tls *tls = calloc(1, sizeof(*tls));

    if (!tls)
        abort();
    tls->certificate = strdup(certificate);
    tls->key = strdup(key);
    if (!tls->certificate || !tls->key)
        abort();
    if (http_tls_reload(tls, err))
        return tls;
    http_tls_free(tls);
    return NULL;
}

void http_tls_free(struct http_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls->certificate);
    free(tls->key);
    free(tls);
}

const char *http_tls_warning(const struct http_tls *tls)
{
    return tls->warning.text;
}

SSL_CTX *http_tls_context(const struct http_tls *tls)
{
    return tls->context;
}
