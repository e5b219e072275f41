/* http_tls.c - the certificate and the key of a port that speaks TLS.
 *
 * Each file is read once, into memory, and all that is said of it is said of
 * those bytes: it may be replaced meanwhile. */
#include "producer/gateway/http/http_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "schemas/message/buf.h"

enum { MAX_FILE = 1 << 20, SECURITY_LEVEL = 2, DATE_TEXT = 16 };

struct http_tls {
    char *certificate, *key; /* paths */
    SSL_CTX *context;        /* in force */
    struct err warning;      /* its text; none: "" */
};

/* What is being loaded. */
struct tls_load {
    SSL_CTX *context;
    struct err warning;
    struct err *err;
};

struct pem_file {
    const char *path;
    char *data;
    size_t len;
    bool is_public; /* every user may read it */
};

static void pem_finish(struct pem_file *file)
{
    if (file->data)
        OPENSSL_cleanse(file->data, file->len);
    free(file->data);
}

/* With the reason of OpenSSL. */
static bool load_failed(struct tls_load *load, const struct pem_file *file,
                        const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    err_set(load->err, ERR_REJECT, "bad_setting", "%s: %s: %s", file->path,
            what, reason ? reason : "unknown error");
    ERR_clear_error();
    return false;
}

static void load_warn(struct tls_load *load, const struct pem_file *file,
                      const char *what, const char *date)
{
    struct err before = load->warning;

    err_set(&load->warning, ERR_REJECT, "bad_setting", "%s%s%s: %s%s",
            before.text, before.kind == ERR_NONE ? "" : "; ", file->path, what,
            date);
}

/* -------------------------------------------------------------------- files */

static bool pem_failed(const struct pem_file *file, struct err *err)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s: it cannot be read: %s",
                   file->path, strerror(errno));
}

static bool pem_fill(struct pem_file *file, int fd, size_t size)
{
    file->data = malloc(size + 1);
    if (!file->data)
        abort();
    while (file->len < size) {
        ssize_t got = read(fd, file->data + file->len, size - file->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        file->len += (size_t)got;
    }
    return true;
}

/* A file that is being written may end inside of a line that begins a
 * certificate. OpenSSL takes that for text between certificates. */
static bool pem_is_cut(const struct pem_file *file)
{
    size_t at = file->len, len;
    const char *line;

    while (at > 0 && file->data[at - 1] != '\n')
        at--;
    line = file->data + at;
    len = file->len - at;
    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' '))
        len--;
    if (len == 0 || line[0] != '-')
        return false;
    return len < 11 || memcmp(line + len - 5, "-----", 5) != 0;
}

static bool pem_read(struct pem_file *file, const char *path, struct err *err)
{
    struct stat stat;
    bool is_read;

    *file = (struct pem_file){ .path = path };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return pem_failed(file, err);
    if (fstat(fd, &stat) == 0 && !S_ISREG(stat.st_mode)) {
        close(fd);
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s: it is no regular file", path);
    }
    if (stat.st_size > MAX_FILE) {
        close(fd);
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s: it has %lld bytes; at most %d are allowed", path,
                       (long long)stat.st_size, MAX_FILE);
    }
    file->is_public = (stat.st_mode & S_IROTH) != 0;
    is_read = pem_fill(file, fd, (size_t)stat.st_size);
    if (!is_read)
        pem_failed(file, err);
    close(fd);
    if (is_read && pem_is_cut(file))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s: it ends inside of a line, so it is not whole",
                       path);
    return is_read;
}

/* -------------------------------------------------------------- certificates
 */

static void date_write(const ASN1_TIME *date, char *text)
{
    struct tm parts;

    text[0] = '\0';
    if (ASN1_TIME_to_tm(date, &parts))
        strftime(text, DATE_TEXT, "%Y-%m-%d", &parts);
}

static void check_dates(struct tls_load *load, const struct pem_file *file,
                        const X509 *one)
{
    char date[DATE_TEXT];

    if (X509_cmp_current_time(X509_get0_notAfter(one)) <= 0) {
        date_write(X509_get0_notAfter(one), date);
        load_warn(load, file, "a certificate expired on ", date);
    } else if (X509_cmp_current_time(X509_get0_notBefore(one)) > 0) {
        date_write(X509_get0_notBefore(one), date);
        load_warn(load, file, "a certificate is not valid before ", date);
    }
}

static bool take_certificate(struct tls_load *load, X509 *one, bool is_first)
{
    return is_first ? SSL_CTX_use_certificate(load->context, one) == 1
                    : SSL_CTX_add1_chain_cert(load->context, one) == 1;
}

static bool take_certificates(struct tls_load *load,
                              const struct pem_file *file)
{
    BIO *bio = BIO_new_mem_buf(file->data, (int)file->len);
    unsigned int count = 0;
    bool ok = true;
    X509 *one;

    if (!bio)
        abort();
    while (ok && (one = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        ok = take_certificate(load, one, count++ == 0);
        check_dates(load, file, one);
        X509_free(one);
    }
    BIO_free(bio);
    if (!ok)
        return load_failed(load, file, "a certificate cannot be used");
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return load_failed(load, file, "a certificate is malformed");
    if (count == 0)
        return load_failed(load, file, "it holds no certificate");
    ERR_clear_error();
    return true;
}

/* ---------------------------------------------------------------------- key */

/* Without it OpenSSL would ask at the terminal. */
static int give_no_passphrase(char *text, int size, int is_written, void *owner)
{
    (void)is_written;
    if (size > 0)
        text[0] = '\0';
    *(bool *)owner = true;
    return -1;
}

static bool take_key(struct tls_load *load, const struct pem_file *file,
                     const char *certificate)
{
    BIO *bio = BIO_new_mem_buf(file->data, (int)file->len);
    bool is_encrypted = false;

    if (!bio)
        abort();
    EVP_PKEY *key =
        PEM_read_bio_PrivateKey(bio, NULL, give_no_passphrase, &is_encrypted);
    BIO_free(bio);
    if (!key && is_encrypted) {
        ERR_clear_error();
        return err_set(load->err, ERR_REJECT, "bad_setting",
                       "%s: the key has a passphrase; none can be given",
                       file->path);
    }
    if (!key)
        return load_failed(load, file, "it holds no private key");
    bool fits = SSL_CTX_use_PrivateKey(load->context, key) == 1 &&
                SSL_CTX_check_private_key(load->context) == 1;
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (!fits)
        return err_set(load->err, ERR_REJECT, "bad_setting",
                       "%s: the key does not fit the certificate in %s",
                       file->path, certificate);
    if (file->is_public)
        load_warn(load, file, "every user of this machine may read the key",
                  "");
    return true;
}

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

static bool load_files(struct tls_load *load, const struct http_tls *tls)
{
    struct pem_file certificate, key = { 0 };
    bool ok = pem_read(&certificate, tls->certificate, load->err) &&
              pem_read(&key, tls->key, load->err) &&
              take_certificates(load, &certificate) &&
              take_key(load, &key, tls->certificate);

    pem_finish(&certificate);
    pem_finish(&key);
    return ok;
}

bool http_tls_reload(struct http_tls *tls, struct err *err)
{
    struct tls_load load = { .context = context_new(), .err = err };

    ERR_clear_error();
    if (!load_files(&load, tls)) {
        SSL_CTX_free(load.context);
        return false;
    }
    SSL_CTX_free(tls->context);
    tls->context = load.context;
    tls->warning = load.warning;
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
