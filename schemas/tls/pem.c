/* pem.c - certificates and private keys of TLS, in PEM files. */
#include "schemas/tls/pem.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/message/buf.h"

enum { MAX_FILE = 1 << 20, DATE_TEXT = 16 };

/* What is being loaded. context NULL: the certificates are only read. */
struct pem_load {
    SSL_CTX *context;
    bool trusts; /* in them, as in those who sign certificates of servers */
    struct pem_notes notes;
    time_t ends; /* of the certificates, the first; 0: none was read */
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
static bool load_failed(struct pem_load *load, const struct pem_file *file,
                        const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    err_set(load->err, ERR_REJECT, "bad_setting", "%s: %s: %s", file->path,
            what, reason ? reason : "unknown error");
    ERR_clear_error();
    return false;
}

static void load_warn(struct pem_load *load, const struct pem_file *file,
                      const char *what, const char *date)
{
    struct err before = load->notes.warning;

    err_set(&load->notes.warning, ERR_REJECT, "bad_setting", "%s%s%s: %s%s",
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

static void note_date(struct pem_load *load, const struct pem_file *file,
                      const char *what, const ASN1_TIME *date)
{
    char text[DATE_TEXT];

    date_write(date, text);
    load_warn(load, file, what, text);
    if (load->notes.date.kind == ERR_NONE)
        err_set(&load->notes.date, ERR_REJECT, "bad_setting", "%s: %s%s",
                file->path, what, text);
}

static void check_dates(struct pem_load *load, const struct pem_file *file,
                        const X509 *one)
{
    const ASN1_TIME *ends = X509_get0_notAfter(one);
    struct tm parts;

    if (X509_cmp_current_time(ends) <= 0)
        note_date(load, file, "a certificate expired on ", ends);
    else if (X509_cmp_current_time(X509_get0_notBefore(one)) > 0)
        note_date(load, file, "a certificate is not valid before ",
                  X509_get0_notBefore(one));
    if (ASN1_TIME_to_tm(ends, &parts)) {
        time_t at = timegm(&parts);
        load->ends = load->ends == 0 || at < load->ends ? at : load->ends;
    }
}

static bool take_certificate(struct pem_load *load, X509 *one, bool is_first)
{
    SSL_CTX *context = load->context;

    if (!context)
        return true;
    if (load->trusts)
        return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one) == 1;
    return is_first ? SSL_CTX_use_certificate(context, one) == 1
                    : SSL_CTX_add1_chain_cert(context, one) == 1;
}

static bool take_certificates(struct pem_load *load,
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

static bool take_key(struct pem_load *load, const struct pem_file *file,
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

/* ---------------------------------------------------------------------- all
 */

bool pem_load_identity(SSL_CTX *context, const char *certificate,
                       const char *key, struct pem_notes *notes,
                       struct err *err)
{
    struct pem_load load = { .context = context, .err = err };
    struct pem_file shown, secret = { 0 };
    bool ok = pem_read(&shown, certificate, err) &&
              pem_read(&secret, key, err) && take_certificates(&load, &shown) &&
              take_key(&load, &secret, certificate);

    pem_finish(&shown);
    pem_finish(&secret);
    *notes = load.notes;
    return ok;
}

static bool load_certificates(struct pem_load *load, const char *path)
{
    struct pem_file file;
    bool ok =
        pem_read(&file, path, load->err) && take_certificates(load, &file);

    pem_finish(&file);
    return ok;
}

bool pem_load_trust(SSL_CTX *context, const char *path, struct err *err)
{
    struct pem_load load = { .context = context, .trusts = true, .err = err };

    return load_certificates(&load, path);
}

bool pem_read_end(const char *path, time_t *ends, struct err *err)
{
    struct pem_load load = { .err = err };
    bool ok = load_certificates(&load, path);

    *ends = load.ends;
    return ok;
}
