/* test_http_tls.c - certificates and keys that may be used, and those that may
 * not; what the operator is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "producer/gateway/http/http_tls.h"
#include "schemas/message/buf.h"
#include "tests/unit/gateway/certificates.h"

static char folder[] = "/tmp/quern-test-XXXXXX";
static char certificate[64], key[64], other_certificate[64], other_key[64];

static void make(const struct certificate_kind *kind)
{
    certificate_write(certificate, key, kind);
}

static int set_up(void **state)
{
    (void)state;
    const struct certificate_kind good = CERTIFICATE_GOOD;

    if (!mkdtemp(folder))
        return -1;
    snprintf(certificate, sizeof(certificate), "%s/cert.pem", folder);
    snprintf(key, sizeof(key), "%s/key.pem", folder);
    snprintf(other_certificate, sizeof(key), "%s/other.pem", folder);
    snprintf(other_key, sizeof(key), "%s/other-key.pem", folder);
    certificate_write(other_certificate, other_key, &good);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(certificate);
    unlink(key);
    unlink(other_certificate);
    unlink(other_key);
    return rmdir(folder);
}

static void read_file(const char *path, struct buf *bytes)
{
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    buf_clear(bytes);
    bytes->len = fread(buf_reserve(bytes, 8192), 1, 8192, file);
    fclose(file);
}

static void write_file(const char *path, struct view bytes)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
    fclose(file);
}

/* The text of the error, or of the warning; "" for neither. */
static const char *outcome(const char *certificate_path, const char *key_path)
{
    static char text[400];
    struct err err;
    struct http_tls *tls = http_tls_new(certificate_path, key_path, &err);

    snprintf(text, sizeof(text), "%s", tls ? http_tls_warning(tls) : err.text);
    http_tls_free(tls);
    return text;
}

static void expect(const char *got, const char *path, const char *wanted)
{
    size_t len = strlen(path);

    if (strncmp(got, path, len) != 0 || !strstr(got + len, wanted))
        fail_msg("\"%s\" is not \"%s: ...%s...\"", got, path, wanted);
}

static void files_that_are_right(void **state)
{
    (void)state;
    const struct certificate_kind good = CERTIFICATE_GOOD;
    const struct certificate_kind rsa = { .rsa_bits = 2048, .to_s = 60 };
    CLEANUP(buf_finish) struct buf both = { .max = 1 << 20 };
    CLEANUP(buf_finish) struct buf more = { .max = 1 << 20 };

    make(&rsa);
    assert_string_equal(outcome(certificate, key), "");
    make(&good);
    assert_string_equal(outcome(certificate, key), "");
    read_file(certificate, &both);
    read_file(key, &more);
    buf_add(&both, buf_view(&more));
    write_file(key, buf_view(&both));
    assert_string_equal(outcome(key, key), "");
}

static void what_an_operator_should_know(void **state)
{
    (void)state;
    const struct certificate_kind good = CERTIFICATE_GOOD;
    const struct certificate_kind old = { .from_s = -9000, .to_s = -60 };
    const struct certificate_kind early = { .from_s = 3600, .to_s = 86400 };

    make(&old);
    expect(outcome(certificate, key), certificate,
           ": a certificate expired on 2");
    make(&early);
    expect(outcome(certificate, key), certificate, " is not valid before 2");
    make(&good);
    chmod(key, 0644);
    expect(outcome(certificate, key), key,
           ": every user of this machine may read the key");
    make(&old);
    chmod(key, 0604);
    const char *both = outcome(certificate, key);
    expect(both, certificate, " expired on ");
    expect(both, certificate, "; ");
    expect(both, certificate, " may read the key");
}

static void files_that_are_wrong(void **state)
{
    (void)state;
    const struct certificate_kind good = CERTIFICATE_GOOD;
    const struct certificate_kind weak = { .rsa_bits = 1024, .to_s = 86400 };
    const struct certificate_kind secret = { .to_s = 60, .passphrase = "pass" };
    CLEANUP(buf_finish) struct buf large = { .max = 2 << 20 };

    make(&weak);
    expect(outcome(certificate, key), certificate, "key too small");
    make(&secret);
    expect(outcome(certificate, key), key, "the key has a passphrase");
    make(&good);
    expect(outcome(certificate, other_key), other_key,
           "the key does not fit the certificate in ");
    expect(outcome(key, key), key, "it holds no certificate");
    expect(outcome(certificate, certificate), certificate,
           "it holds no private key");
    expect(outcome(folder, key), folder, "it is no regular file");
    expect(outcome("/nowhere", key), "/nowhere", "No such file or directory");
    assert_non_null(buf_reserve(&large, (1 << 20) + 1));
    memset(large.data, '\n', (1 << 20) + 1);
    write_file(key, (struct view){ large.data, (1 << 20) + 1 });
    expect(outcome(certificate, key), key,
           "it has 1048577 bytes; at most 1048576 are allowed");
}

/* A chain of two is cut off after each byte: it may be used only where a
 * certificate ends. */
static void a_file_that_is_half_written(void **state)
{
    (void)state;
    const struct certificate_kind good = CERTIFICATE_GOOD;
    CLEANUP(buf_finish) struct buf chain = { .max = 1 << 20 };
    CLEANUP(buf_finish) struct buf issuer = { .max = 1 << 20 };
    struct err err;

    make(&good);
    struct http_tls *tls = http_tls_new(certificate, key, &err);
    assert_non_null(tls);
    read_file(certificate, &chain);
    size_t first = chain.len;
    read_file(other_certificate, &issuer);
    buf_add(&chain, buf_view(&issuer));
    for (size_t len = 0; len <= chain.len; len++) {
        SSL_CTX *before = http_tls_context(tls);
        bool is_whole = len == first - 1 || len == first ||
                        len == chain.len - 1 || len == chain.len;
        write_file(certificate, (struct view){ chain.data, len });
        if (http_tls_reload(tls, &err) != is_whole)
            fail_msg("%zu of %zu bytes: %s", len, chain.len,
                     is_whole ? err.text : "taken");
        if (!is_whole)
            assert_ptr_equal(http_tls_context(tls), before);
    }
    http_tls_free(tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_right),
        cmocka_unit_test(what_an_operator_should_know),
        cmocka_unit_test(files_that_are_wrong),
        cmocka_unit_test(a_file_that_is_half_written),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
