/* pem.h - certificates and private keys of TLS, in PEM files that may be
 * replaced at any time.
 *
 * The gateway shows its certificate to browsers, and every program shows one to
 * a Redis that asks for it: both load them here. Each file is read once, into
 * memory, and all that is said of it is said of those bytes. A file has at most
 * 1 MiB. Errors are bad_setting, in a sentence that names the file and what is
 * wrong with it: it cannot be read, it ends inside of a line, a certificate is
 * malformed, the key has a passphrase, or does not fit the certificate. */
#ifndef SCHEMAS_TLS_PEM_H
#define SCHEMAS_TLS_PEM_H

#include <openssl/types.h>
#include <time.h>

#include "schemas/message/err.h"

/* What an operator should know of files that can be used. */
struct pem_notes {
    /* A certificate has expired or is not valid yet; every user may read the
     * key. Its text; none: "" */
    struct err warning;
    /* A certificate has expired or is not valid yet: what shows it is refused.
     * Its text; none: "" */
    struct err date;
};

/* Gives the context the certificate, those between it and the root behind it,
 * and the private key. Both paths may be one file. */
bool pem_load_identity(SSL_CTX *context, const char *certificate,
                       const char *key, struct pem_notes *notes,
                       struct err *err);

/* Lets the context trust the certificates of the file, and no other. */
bool pem_load_trust(SSL_CTX *context, const char *path, struct err *err);

/* *ends: when the first of the certificates in the file ends to be valid. */
bool pem_read_end(const char *path, time_t *ends, struct err *err);

#endif
