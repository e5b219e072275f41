/* http_tls.h - the certificate and the key of a port that speaks TLS.
 *
 * Two files in PEM: the certificate with those between it and the root behind
 * it, and its private key; both may be one file. Each has at most 1 MiB. They
 * are read when this is made, and again by http_tls_reload(); a file that is
 * half-written, or a key that does not fit, leaves in force what was.
 *
 * TLS 1.2 and 1.3 with OpenSSL's ciphers of security level 2, without
 * compression, renegotiation, early data and certificates of clients. Sessions
 * are resumed by tickets; their keys live as long as what was loaded. */
#ifndef PRODUCER_GATEWAY_HTTP_TLS_H
#define PRODUCER_GATEWAY_HTTP_TLS_H

#include <openssl/types.h>

#include "schemas/message/err.h"

struct http_tls;

/* Copies the paths. NULL with err, which names the file and what is wrong with
 * it. Must outlive the server that uses it. */
struct http_tls *http_tls_new(const char *certificate, const char *key,
                              struct err *err);
void http_tls_free(struct http_tls *tls); /* accepts NULL */

/* Reads the files again, for the connections that come from now on. False with
 * err: what was loaded before stays in force. */
bool http_tls_reload(struct http_tls *tls, struct err *err);

/* What an operator should know of the files in force: a certificate that has
 * expired or is not valid yet, a key that every user may read. A sentence,
 * valid until the next reload; "": nothing. */
const char *http_tls_warning(const struct http_tls *tls);

/* Settings for a new connection; SSL_new() takes a reference. */
SSL_CTX *http_tls_context(const struct http_tls *tls);

#endif
