/* tls.c - TLS where hiredis has it (>= 1.0); where not, a refusal. */
#include "schemas/redis/wire.h"

#ifdef QUERN_TLS

#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>

bool tls_available(void)
{
    return true;
}

static bool tls_failed(struct err *err, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return err_set(err, ERR_RETRY, "redis_unavailable", "TLS: %s: %s", what,
                   reason ? reason : "unknown error");
}

/* hiredis checks the chain of certificates but not the name in it: the trusted
 * certificate of any other host would be accepted. So the name (or the numeric
 * address) that must be in the certificate is set here. */
static bool bind_name(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return true;
    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 &&
           SSL_set_tlsext_host_name(ssl, (void *)(uintptr_t)host) == 1;
}

bool tls_start(redisContext *wire, const char *host, struct err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        return tls_failed(err, "set-up");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    /* SSL_CERT_FILE and SSL_CERT_DIR are heeded here. */
    SSL_CTX_set_default_verify_paths(context);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context); /* ssl keeps it */
    if (!ssl)
        return tls_failed(err, "set-up");
    if (!bind_name(ssl, host) || redisInitiateSSL(wire, ssl) != REDIS_OK) {
        SSL_free(ssl);
        return tls_failed(err, host);
    }
    return true;
}

/* When a handshake fails after its first step, hiredis reports an error of
 * reading with the text "Success": OpenSSL has the real reason. */
const char *tls_reason(const redisContext *wire)
{
    unsigned long code = wire->privctx ? ERR_peek_last_error() : 0;

    ERR_clear_error();
    return code ? ERR_reason_error_string(code) : NULL;
}

#else

const char *tls_reason(const redisContext *wire)
{
    (void)wire;
    return NULL;
}

bool tls_available(void)
{
    return false;
}

bool tls_start(redisContext *wire, const char *host, struct err *err)
{
    (void)wire;
    return err_set(err, ERR_REJECT, "bad_setting",
                   "TLS to %s: this build has none", host);
}

#endif
