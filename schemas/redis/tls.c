/* tls.c - TLS where hiredis has it (>= 1.0); where not, a refusal. */
#include "schemas/redis/wire.h"

#ifdef QUERN_TLS

#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>

#include "schemas/tls/pem.h"

bool tls_available(void)
{
    return true;
}

/* Of the handshake that failed last in this thread. */
static _Thread_local long refused_why = X509_V_OK;

static bool tls_failed(struct err *err, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return err_set(err, ERR_RETRY, "redis_unavailable", "TLS: %s: %s", what,
                   refused_why != X509_V_OK
                       ? X509_verify_cert_error_string(refused_why)
                   : reason ? reason
                            : "unknown error");
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

static _Thread_local time_t peer_ends;

time_t tls_peer_ends(void)
{
    return peer_ends;
}

static int on_verified(int is_good, X509_STORE_CTX *store)
{
    struct tm parts;

    if (X509_STORE_CTX_get_error_depth(store) == 0 &&
        ASN1_TIME_to_tm(
            X509_get0_notAfter(X509_STORE_CTX_get_current_cert(store)), &parts))
        peer_ends = timegm(&parts);
    if (!is_good)
        refused_why = X509_STORE_CTX_get_error(store);
    return is_good;
}

static bool load_files(SSL_CTX *context, const struct address_tls *files,
                       struct err *err)
{
    struct pem_notes notes = { 0 };

    if (files->ca && !pem_load_trust(context, files->ca, err))
        return false;
    if (!files->ca) /* SSL_CERT_FILE and SSL_CERT_DIR are heeded here. */
        SSL_CTX_set_default_verify_paths(context);
    if (files->certificate && !pem_load_identity(context, files->certificate,
                                                 files->key, &notes, err))
        return false;
    if (notes.date.kind != ERR_NONE)
        *err = notes.date;
    return notes.date.kind == ERR_NONE;
}

/* Anew for each connection, so that files are used as they are now. */
static SSL_CTX *context_of(const struct address_tls *files, struct err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (!context)
        abort();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_verified);
    ERR_clear_error();
    if (load_files(context, files, err))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

bool tls_check(const struct address_tls *files, struct err *err)
{
    SSL_CTX *context = context_of(files, err);

    SSL_CTX_free(context);
    return context || err_prefix(err, "Redis TLS");
}

bool tls_start(redisContext *wire, const struct address_tls *files,
               const char *host, struct err *err)
{
    SSL_CTX *context = context_of(files, err);
    const char *name = files->server_name ? files->server_name : host;

    if (!context) {
        struct err why = *err;
        return err_set(err, ERR_RETRY, "redis_unavailable", "TLS: %s",
                       why.text);
    }
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context); /* ssl keeps it */
    if (!ssl)
        return tls_failed(err, "set-up");
    if (!bind_name(ssl, name) || redisInitiateSSL(wire, ssl) != REDIS_OK) {
        SSL_free(ssl);
        return tls_failed(err, name);
    }
    return true;
}

void tls_heard(redisContext *wire)
{
    static bool heard;

    wire->privdata = &heard;
}

/* In TLS 1.3 the client has sent its certificate, and a first command, when the
 * server refuses it. So the server's alert may be lost in a reset. */
static const char *unheard_reason(const redisContext *wire)
{
    bool ended = wire->err == REDIS_ERR_IO || wire->err == REDIS_ERR_EOF;

    return wire->privctx && !wire->privdata && ended
               ? "the server has ended the connection before its first answer: "
                 "it does not accept the certificate of this client, or none "
                 "was shown (redis-tls-certificate)"
               : NULL;
}

/* When a handshake fails after its first step, hiredis reports an error of
 * reading with the text "Success": OpenSSL has the real reason. */
const char *tls_reason(const redisContext *wire)
{
    unsigned long code = wire->privctx ? ERR_peek_last_error() : 0;
    long refused = refused_why;

    ERR_clear_error();
    refused_why = X509_V_OK;
    if (code && refused != X509_V_OK)
        return X509_verify_cert_error_string(refused);
    if (ERR_GET_REASON(code) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
        return "the server asks for a certificate of its client "
               "(redis-tls-certificate)";
    return code && !ERR_SYSTEM_ERROR(code) ? ERR_reason_error_string(code)
                                           : unheard_reason(wire);
}

#else

time_t tls_peer_ends(void)
{
    return 0;
}

void tls_heard(redisContext *wire)
{
    (void)wire;
}

const char *tls_reason(const redisContext *wire)
{
    (void)wire;
    return NULL;
}

bool tls_available(void)
{
    return false;
}

bool tls_check(const struct address_tls *files, struct err *err)
{
    (void)files;
    return err_set(err, ERR_REJECT, "bad_setting",
                   "Redis TLS: this build has none");
}

bool tls_start(redisContext *wire, const struct address_tls *files,
               const char *host, struct err *err)
{
    (void)wire;
    (void)files;
    return err_set(err, ERR_REJECT, "bad_setting",
                   "TLS to %s: this build has none", host);
}

#endif
