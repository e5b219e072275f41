/* certificates.h - certificates and keys that a test makes. */
#ifndef TESTS_UNIT_GATEWAY_CERTIFICATES_H
#define TESTS_UNIT_GATEWAY_CERTIFICATES_H

struct certificate_kind {
    unsigned int rsa_bits;  /* 0: an elliptic curve, P-256 */
    long from_s, to_s;      /* valid, counted from now */
    const char *passphrase; /* of the key; NULL: none */
};

#define CERTIFICATE_GOOD                                                       \
    {                                                                          \
        .from_s = -60, .to_s = 86400                                           \
    }

/* Writes both in PEM, the key for its owner only. Aborts when it cannot. */
void certificate_write(const char *path, const char *key_path,
                       const struct certificate_kind *kind);

#endif
