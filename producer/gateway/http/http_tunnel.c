/* http_tunnel.c - TLS between a socket and a connection of HTTP.
 *
 * OpenSSL reads and writes by a BIO of our own. It reads straight from what was
 * fed, and writes into one buffer of all tunnels, which is sent at the end of
 * each call. So between two calls a tunnel holds the rest of a record at most.
 */
#include "producer/gateway/http/http_tunnel.h"

#include <assert.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"

enum {
    SEAL_BYTES = 64 << 10,  /* that are sealed, and sent, at once */
    MAX_SEALED = 512 << 10, /* with what TLS adds */
};

static_assert(HTTP_READ_BYTES - TUNNEL_READ_BYTES >= SSL3_RT_MAX_PLAIN_LENGTH,
              "the rest of a record and a read must fit");

struct http_tunnels {
    BIO_METHOD *bio;
    struct buf sealed; /* of the call that runs */
    char opened[HTTP_READ_BYTES];
};

/* Bytes that are not sealed yet. */
struct tunnel_part {
    struct tunnel_part *next;
    struct http_bytes *bytes;
    struct view rest; /* of bytes */
};

/* Where the peer's side of a handshake is, as far as it is in the clear. */
struct tunnel_watch {
    uint8_t record[5]; /* its header: type, version, length */
    uint8_t message[4];
    uint8_t record_len, message_len; /* bytes of these that have come */
    uint16_t record_left;            /* of what follows them */
    uint32_t message_left;
};

struct http_tunnel {
    struct http_tunnels *shared;
    SSL *ssl;
    const struct http_wire *below;
    void *owner; /* of the wire below */
    struct http_connection *connection;
    struct tunnel_part *first, **last;
    size_t queued;     /* bytes in parts */
    struct view input; /* that is being fed */
    size_t handshake;  /* bytes that the peer may still send of it */
    struct tunnel_watch watch;
    size_t replies;    /* of TLS itself since nothing waited */
    bool is_open;      /* the handshake is done */
    bool is_finishing; /* the connection sends no more */
    bool is_finished;  /* close_notify is sent */
    bool is_ended;     /* close_notify has come */
    bool is_broken;    /* nothing can be sealed or opened any more */
    bool is_closed;
};

/* ------------------------------------------------------------ the handshake */

/* False: the message is longer than it may be. OpenSSL would take memory for
 * all of it when it reads its first bytes: 150 KiB for 14 bytes. */
static bool watch_message(struct tunnel_watch *watch, uint8_t byte)
{
    const uint8_t *message = watch->message;

    if (watch->message_left > 0) {
        watch->message_left--;
        return true;
    }
    watch->message[watch->message_len++] = byte;
    if (watch->message_len < sizeof(watch->message))
        return true;
    watch->message_len = 0;
    watch->message_left =
        (uint32_t)message[1] << 16 | (uint32_t)message[2] << 8 | message[3];
    return watch->message_left <= TUNNEL_MAX_HANDSHAKE;
}

static bool watch_byte(struct tunnel_watch *watch, uint8_t byte)
{
    if (watch->record_len < sizeof(watch->record)) {
        watch->record[watch->record_len++] = byte;
        watch->record_left =
            (uint16_t)(watch->record[3] << 8 | watch->record[4]);
        if (watch->record_len == sizeof(watch->record) &&
            watch->record_left == 0)
            watch->record_len = 0;
        return true;
    }
    if (--watch->record_left == 0)
        watch->record_len = 0;
    return watch->record[0] != SSL3_RT_HANDSHAKE || watch_message(watch, byte);
}

/* False: the handshake, of which these bytes come next, is too long. */
static bool tunnel_may_take(struct http_tunnel *tunnel, struct view bytes)
{
    if (tunnel->is_open || SSL_is_init_finished(tunnel->ssl))
        return true;
    if (bytes.len > tunnel->handshake)
        return false;
    tunnel->handshake -= bytes.len;
    /* What follows the hello of 1.2 is sealed, or bounded by OpenSSL. */
    if (SSL_version(tunnel->ssl) == TLS1_2_VERSION)
        return true;
    for (size_t i = 0; i < bytes.len; i++)
        if (!watch_byte(&tunnel->watch, (uint8_t)bytes.data[i]))
            return false;
    return true;
}

/* ---------------------------------------------------------------------- BIO */

static int tunnel_bio_read(BIO *bio, char *data, size_t len, size_t *got)
{
    struct http_tunnel *tunnel = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (len > tunnel->input.len)
        len = tunnel->input.len;
    if (!tunnel_may_take(tunnel, (struct view){ tunnel->input.data, len }))
        return 0; /* an error, since it is no retry */
    if (len == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(data, tunnel->input.data, len);
    tunnel->input.data += len;
    tunnel->input.len -= len;
    *got = len;
    return 1;
}

static int tunnel_bio_write(BIO *bio, const char *data, size_t len, size_t *put)
{
    struct http_tunnel *tunnel = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (!buf_append(&tunnel->shared->sealed, data, len))
        return 0;
    *put = len;
    return 1;
}

static long tunnel_bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

struct http_tunnels *http_tunnels_new(void)
{
    struct http_tunnels *tunnels = calloc(1, sizeof(*tunnels));

    if (!tunnels)
        abort();
    buf_init(&tunnels->sealed, MAX_SEALED);
    tunnels->bio = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "a tunnel of HTTP");
    if (!tunnels->bio)
        abort();
    BIO_meth_set_read_ex(tunnels->bio, tunnel_bio_read);
    BIO_meth_set_write_ex(tunnels->bio, tunnel_bio_write);
    BIO_meth_set_ctrl(tunnels->bio, tunnel_bio_ctrl);
    return tunnels;
}

void http_tunnels_free(struct http_tunnels *tunnels)
{
    if (!tunnels)
        return;
    BIO_meth_free(tunnels->bio);
    buf_finish(&tunnels->sealed);
    free(tunnels);
}

/* ------------------------------------------------------------------- output */

/* Sends what OpenSSL has written. */
static void tunnel_flush(struct http_tunnel *tunnel)
{
    struct buf *sealed = &tunnel->shared->sealed;

    if (sealed->len > 0) {
        struct http_bytes *bytes = http_bytes_new(buf_view(sealed));
        tunnel->below->send(tunnel->owner, bytes, http_bytes_view(bytes));
        http_bytes_free(bytes);
    }
    buf_clear(sealed);
}

static void tunnel_drop_parts(struct http_tunnel *tunnel)
{
    struct tunnel_part *next;

    for (struct tunnel_part *part = tunnel->first; part; part = next) {
        next = part->next;
        http_bytes_free(part->bytes);
        free(part);
    }
    tunnel->first = NULL;
    tunnel->last = &tunnel->first;
    tunnel->queued = 0;
}

/* The connection hears of it in a run of its own: this may be a call of it. */
static void tunnel_break(struct http_tunnel *tunnel)
{
    if (tunnel->is_broken)
        return;
    tunnel->is_broken = true;
    tunnel_drop_parts(tunnel);
    ERR_clear_error();
    http_connection_cut(tunnel->connection, HTTP_GONE_PEER);
}

/* How much of view has been sealed; less than all: the tunnel is broken. */
static size_t tunnel_seal(struct http_tunnel *tunnel, struct view view)
{
    size_t len = 0;

    ERR_clear_error();
    if (SSL_write_ex(tunnel->ssl, view.data, view.len, &len) != 1)
        tunnel_break(tunnel);
    return len;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Takes the head of the queue, of which len bytes were sealed. */
static void tunnel_take(struct http_tunnel *tunnel, size_t len)
{
    struct tunnel_part *part = tunnel->first;

    part->rest.data += len;
    part->rest.len -= len;
    tunnel->queued -= len;
    if (part->rest.len > 0)
        return;
    tunnel->first = part->next;
    if (!tunnel->first)
        tunnel->last = &tunnel->first;
    http_bytes_free(part->bytes);
    free(part);
}

/* Seals and sends what waits, as long as the wire below takes it at once. */
static void tunnel_pump(struct http_tunnel *tunnel)
{
    while (tunnel->first && tunnel->below->waiting(tunnel->owner) == 0) {
        size_t room = SEAL_BYTES, len;
        while (tunnel->first && room > 0) {
            len = smaller(room, tunnel->first->rest.len);
            len = tunnel_seal(tunnel,
                              (struct view){ tunnel->first->rest.data, len });
            if (tunnel->is_broken)
                return;
            tunnel_take(tunnel, len);
            room -= len;
        }
        tunnel_flush(tunnel);
    }
    if (tunnel->first || !tunnel->is_finishing || tunnel->is_finished)
        return;
    tunnel->is_finished = true;
    ERR_clear_error();
    if (!tunnel->is_broken && tunnel->is_open)
        SSL_shutdown(tunnel->ssl);
    tunnel_flush(tunnel);
    tunnel->below->finish(tunnel->owner);
}

/* ----------------------------------------------------------- the wire above */

static void tunnel_send(void *owner, struct http_bytes *bytes, struct view view)
{
    struct http_tunnel *tunnel = owner;
    struct tunnel_part *part;

    if (tunnel->is_broken || tunnel->is_finishing || view.len == 0)
        return;
    part = malloc(sizeof(*part));
    if (!part)
        abort();
    *part =
        (struct tunnel_part){ .bytes = http_bytes_take(bytes), .rest = view };
    *tunnel->last = part;
    tunnel->last = &part->next;
    tunnel->queued += view.len;
    tunnel_pump(tunnel);
}

static size_t tunnel_waiting(const void *owner)
{
    const struct http_tunnel *tunnel = owner;

    return tunnel->queued + tunnel->below->waiting(tunnel->owner);
}

static void tunnel_read(void *owner, bool on)
{
    struct http_tunnel *tunnel = owner;

    tunnel->below->read(tunnel->owner, on);
}

static void tunnel_finish(void *owner)
{
    struct http_tunnel *tunnel = owner;

    tunnel->is_finishing = true;
    tunnel_pump(tunnel);
}

static void tunnel_soon(void *owner)
{
    struct http_tunnel *tunnel = owner;

    tunnel->below->soon(tunnel->owner);
}

static void tunnel_close(void *owner)
{
    struct http_tunnel *tunnel = owner;

    tunnel->is_closed = true;
    tunnel_drop_parts(tunnel);
    tunnel->below->close(tunnel->owner);
}

const struct http_wire http_tunnel_wire = {
    .send = tunnel_send,
    .waiting = tunnel_waiting,
    .read = tunnel_read,
    .finish = tunnel_finish,
    .soon = tunnel_soon,
    .close = tunnel_close,
};

/* --------------------------------------------------------------------- input
 */

static void tunnel_answer_in_the_clear(struct http_tunnel *tunnel)
{
    static const char body[] =
        "{\"error\":{\"message\":\"this port speaks TLS: use https\","
        "\"type\":\"invalid_request_error\",\"param\":null,"
        "\"code\":\"tls_required\"}}";
    struct buf *out = &tunnel->shared->sealed;

    buf_clear(out); /* an alert */
    buf_printf(out,
               "HTTP/1.1 400 Bad Request\r\n"
               "Connection: close\r\n"
               "Content-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               sizeof(body) - 1, body);
}

/* Opens what was fed, into the buffer of all; returns how much. */
static size_t tunnel_open(struct http_tunnel *tunnel)
{
    char *opened = tunnel->shared->opened;
    size_t len = 0, got;

    ERR_clear_error();
    while (len < HTTP_READ_BYTES &&
           SSL_read_ex(tunnel->ssl, opened + len, HTTP_READ_BYTES - len,
                       &got) == 1)
        len += got;
    return len;
}

static void tunnel_judge(struct http_tunnel *tunnel)
{
    switch (SSL_get_error(tunnel->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        break;
    case SSL_ERROR_ZERO_RETURN:
        tunnel->is_ended = true;
        break;
    default:
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
            tunnel_answer_in_the_clear(tunnel);
        tunnel_flush(tunnel);
        tunnel_break(tunnel);
    }
}

/* What TLS itself sends because of what the peer sent: a peer that does not
 * read must not make us hold much of it. */
static void tunnel_reply(struct http_tunnel *tunnel)
{
    if (!tunnel->is_open || tunnel->below->waiting(tunnel->owner) == 0)
        tunnel->replies = 0;
    else
        tunnel->replies += tunnel->shared->sealed.len;
    tunnel_flush(tunnel);
    if (tunnel->replies > TUNNEL_MAX_REPLIES)
        tunnel_break(tunnel);
}

void http_tunnel_feed(struct http_tunnel *tunnel, struct view sealed)
{
    size_t len;

    assert(sealed.len <= TUNNEL_READ_BYTES);
    if (tunnel->is_broken || tunnel->is_ended || tunnel->is_closed)
        return;
    tunnel->input = sealed;
    len = tunnel_open(tunnel);
    tunnel_judge(tunnel);
    tunnel->input = (struct view){ 0 };
    tunnel_reply(tunnel);
    tunnel->is_open = SSL_is_init_finished(tunnel->ssl);
    if (len > 0)
        http_connection_feed(tunnel->connection,
                             (struct view){ tunnel->shared->opened, len });
    if (tunnel->is_ended && !tunnel->is_closed)
        http_connection_lost(tunnel->connection, true);
}

void http_tunnel_lost(struct http_tunnel *tunnel, bool is_half)
{
    if (!is_half || !tunnel->is_ended)
        http_connection_lost(tunnel->connection, false);
}

void http_tunnel_drained(struct http_tunnel *tunnel)
{
    tunnel_pump(tunnel);
    http_connection_drained(tunnel->connection);
}

/* ------------------------------------------------------------ for the owner */

struct http_tunnel *http_tunnel_new(struct http_tunnels *tunnels,
                                    const struct http_tls *tls,
                                    const struct http_wire *below, void *owner)
{
    struct http_tunnel *tunnel = calloc(1, sizeof(*tunnel));
    BIO *bio = BIO_new(tunnels->bio);

    if (!tunnel || !bio)
        abort();
    tunnel->shared = tunnels;
    tunnel->below = below;
    tunnel->owner = owner;
    tunnel->last = &tunnel->first;
    tunnel->handshake = TUNNEL_MAX_HANDSHAKE;
    tunnel->ssl = SSL_new(http_tls_context(tls));
    if (!tunnel->ssl)
        abort();
    BIO_set_data(bio, tunnel);
    BIO_set_init(bio, 1);
    SSL_set_bio(tunnel->ssl, bio, bio);
    SSL_set_accept_state(tunnel->ssl);
    return tunnel;
}

void http_tunnel_free(struct http_tunnel *tunnel)
{
    if (!tunnel)
        return;
    tunnel_drop_parts(tunnel);
    SSL_free(tunnel->ssl);
    free(tunnel);
}

void http_tunnel_serve(struct http_tunnel *tunnel,
                       struct http_connection *connection)
{
    tunnel->connection = connection;
}
