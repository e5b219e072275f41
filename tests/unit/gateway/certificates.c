/* certificates.c - certificates and keys that a test makes. */
#include "tests/unit/gateway/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void must(int is_done, const char *what)
{
    if (is_done)
        return;
    fprintf(stderr, "certificates: %s\n", what);
    abort();
}

static X509 *certificate_new(EVP_PKEY *key, const struct certificate_kind *kind)
{
    X509 *one = X509_new();
    X509_NAME *name = X509_get_subject_name(one);

    must(X509_set_version(one, 2) &&
             ASN1_INTEGER_set(X509_get_serialNumber(one), 1) &&
             X509_gmtime_adj(X509_getm_notBefore(one), kind->from_s) &&
             X509_gmtime_adj(X509_getm_notAfter(one), kind->to_s) &&
             X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                        (const unsigned char *)"quern", -1, -1,
                                        0) &&
             X509_set_issuer_name(one, name) && X509_set_pubkey(one, key) &&
             X509_sign(one, key, EVP_sha256()),
         "cannot sign");
    return one;
}

static FILE *file_open(const char *path)
{
    FILE *file = fopen(path, "w");

    must(file != NULL, path);
    return file;
}

void certificate_write(const char *path, const char *key_path,
                       const struct certificate_kind *kind)
{
    EVP_PKEY *key =
        kind->rsa_bits ? EVP_RSA_gen(kind->rsa_bits) : EVP_EC_gen("P-256");
    const char *secret = kind->passphrase;
    FILE *file;

    must(key != NULL, "no key");
    X509 *one = certificate_new(key, kind);
    file = file_open(path);
    must(PEM_write_X509(file, one), path);
    fclose(file);
    file = file_open(key_path);
    must(PEM_write_PrivateKey(file, key, secret ? EVP_aes_128_cbc() : NULL,
                              (const unsigned char *)secret,
                              secret ? (int)strlen(secret) : 0, NULL, NULL),
         key_path);
    fclose(file);
    must(chmod(key_path, 0600) == 0, key_path);
    X509_free(one);
    EVP_PKEY_free(key);
}
