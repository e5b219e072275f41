/* fuzz_tls.c - any bytes through TLS into a connection of HTTP.
 *
 * The first byte chooses what is done, the second is the seed of the pieces:
 *
 *   0  the bytes are what the peer sends: whatever they are, nothing breaks
 *   1  a client of OpenSSL sends them, in any pieces, with new keys now and
 *      then, on a wire that is full now and then: it reads what a connection
 *      without TLS answers
 *   2  the same, but a byte of what it sends is changed on the way: it reads
 *      a part of that answer, from its beginning, or nothing
 *   3  the same as 1, but nobody takes what the tunnel sends, and the client
 *      asks for new keys without end: it is cut before much waits */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/mman.h>

#include "producer/gateway/http/http_tunnel.h"
#include "schemas/message/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/gateway/certificates.h"

enum {
    MAX_BODY = 1 << 20,
    MAX_OUT = 64 << 20,
    TURNS = 100000,
    FLOOD = 3000,
    KERNEL_BYTES = 40000
};

enum mode { RAW, WHOLE, CHANGED, FLOODED, MODES };

struct world {
    struct http_service service;
    struct http_connection *connection;
    struct http_tunnel *tunnel; /* NULL: no TLS */
    SSL *client;
    BIO *in, *out;     /* of the client */
    struct buf sent;   /* of the client, that the tunnel has not got */
    struct buf got;    /* what the client has read */
    unsigned int seed; /* of the pieces */
    size_t waiting;    /* in the wire below */
    size_t change_at;  /* the byte to be changed; SIZE_MAX: none */
    bool is_stuck;     /* the wire below takes nothing */
    bool reads, finished, closed, stirred;
};

static struct http_tls *tls;
static struct http_tunnels *tunnels;
static SSL_CTX *client_context;

static unsigned int choice(struct world *world, unsigned int of)
{
    return (unsigned int)rand_r(&world->seed) % of;
}

static void set_up(void)
{
    const struct certificate_kind good = CERTIFICATE_GOOD;
    char paths[2][32];
    struct err err;

    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d",
                 memfd_create("pem", 0));
    certificate_write(paths[0], paths[1], &good);
    tls = http_tls_new(paths[0], paths[1], &err);
    tunnels = http_tunnels_new();
    client_context = SSL_CTX_new(TLS_client_method());
    MUST(tls && tunnels && client_context);
}

/* ------------------------------------------------------------------ the wire
 */

static void world_send(void *owner, struct http_bytes *bytes, struct view part)
{
    struct world *world = owner;

    (void)bytes;
    MUST(!world->closed);
    /* What waits waits unsealed, shared by all who send it. */
    MUST(!world->tunnel || world->waiting == 0 ||
         part.len <= TUNNEL_MAX_REPLIES);
    if (world->finished)
        return;
    if (world->client)
        MUST(BIO_write(world->in, part.data, (int)part.len) == (int)part.len);
    else
        MUST(buf_add(&world->got, part));
    if (world->tunnel &&
        (world->is_stuck || part.len > KERNEL_BYTES || choice(world, 4) == 1))
        world->waiting += part.len;
}

static size_t world_waiting(const void *owner)
{
    const struct world *world = owner;
    return world->waiting;
}

static void world_read(void *owner, bool on)
{
    struct world *world = owner;

    MUST(!world->closed);
    world->reads = on;
}

static void world_finish(void *owner)
{
    struct world *world = owner;

    MUST(!world->closed && !world->finished);
    world->finished = true;
}

static void world_soon(void *owner)
{
    struct world *world = owner;

    MUST(!world->closed);
    world->stirred = true;
}

static void world_close(void *owner)
{
    struct world *world = owner;

    MUST(!world->closed);
    world->closed = true;
}

static const struct http_wire wire = {
    world_send,   world_waiting, world_read,
    world_finish, world_soon,    world_close,
};

/* --------------------------------------------------------------- the handler
 */

static void on_gone(void *owner, enum http_gone why)
{
    (void)owner;
    MUST(why <= HTTP_GONE_SERVER);
}

static void on_end(void *owner, struct view body)
{
    struct http_exchange *request = owner;

    http_answer(request, 200, NULL, 0, body);
}

static const struct http_request_events events = { .on_gone = on_gone,
                                                   .on_end = on_end };

static void on_request(void *owner, struct http_exchange *request)
{
    (void)owner;
    http_request_follow(request, &events, request);
    http_body_collect(request, MAX_BODY);
}

/* ----------------------------------------------------------------- the world
 */

static void turn(struct world *world)
{
    while (world->stirred && !world->closed) {
        world->stirred = false;
        http_connection_run(world->connection);
    }
    if (world->tunnel && !world->closed && world->waiting > 0 &&
        !world->is_stuck && choice(world, 2)) {
        world->waiting = 0;
        http_tunnel_drained(world->tunnel);
    }
}

static void feed(struct world *world, struct view bytes)
{
    if (world->tunnel)
        http_tunnel_feed(world->tunnel, bytes);
    else
        http_connection_feed(world->connection, bytes);
}

/* Feeds what was sent, as far as the connection reads. */
static void deliver(struct world *world)
{
    for (unsigned int i = 0; i < TURNS && world->sent.len > 0; i++) {
        size_t len = 1 + choice(world, choice(world, 2) ? 8 : 20000);
        turn(world);
        if (world->closed || !world->reads)
            continue;
        len = len > world->sent.len ? world->sent.len : len;
        feed(world, (struct view){ world->sent.data, len });
        buf_drop(&world->sent, len);
    }
    turn(world);
    if (world->closed)
        buf_clear(&world->sent);
}

/* What the client has written goes to what is sent. */
static void collect(struct world *world)
{
    char *data;
    size_t len = (size_t)BIO_get_mem_data(world->out, &data);

    if (world->change_at < len) {
        data[world->change_at] ^= (char)(1 << choice(world, 8));
        world->change_at = SIZE_MAX;
    } else if (world->change_at != SIZE_MAX) {
        world->change_at -= len;
    }
    MUST(buf_append(&world->sent, data, len));
    (void)BIO_reset(world->out);
}

static void client_read(struct world *world)
{
    char piece[4096];
    size_t len;

    ERR_clear_error();
    while (SSL_read_ex(world->client, piece, sizeof(piece), &len) == 1)
        MUST(buf_append(&world->got, piece, len));
}

static void exchange(struct world *world)
{
    collect(world);
    deliver(world);
    client_read(world);
}

static void client_send(struct world *world, struct view bytes)
{
    size_t put;

    while (bytes.len > 0 && !world->closed) {
        size_t len = 1 + choice(world, choice(world, 2) ? 40 : 30000);
        len = len > bytes.len ? bytes.len : len;
        if (choice(world, 10) == 1)
            SSL_key_update(world->client, (int)choice(world, 2));
        ERR_clear_error();
        if (SSL_write_ex(world->client, bytes.data, len, &put) != 1)
            return; /* an alert has come */
        bytes.data += len;
        bytes.len -= len;
        exchange(world);
    }
}

/* ------------------------------------------------------------------ its life
 */

static void begin(struct world *world, bool has_tls, unsigned int seed)
{
    *world = (struct world){
        .service = { .limits = HTTP_LIMITS_DEFAULT,
                     .handler = { .on_request = on_request },
                     .now_ms = 1000 },
        .sent = { .max = MAX_OUT },
        .got = { .max = MAX_OUT },
        .seed = seed,
        .change_at = SIZE_MAX,
        .reads = true,
    };
    if (has_tls)
        world->tunnel = http_tunnel_new(tunnels, tls, &wire, world);
    world->connection = http_connection_new(
        &world->service, has_tls ? &http_tunnel_wire : &wire,
        has_tls ? (void *)world->tunnel : (void *)world, "::1");
    if (has_tls)
        http_tunnel_serve(world->tunnel, world->connection);
}

static void begin_client(struct world *world, unsigned int version)
{
    world->client = SSL_new(client_context);
    world->in = BIO_new(BIO_s_mem());
    world->out = BIO_new(BIO_s_mem());
    MUST(world->client && world->in && world->out);
    SSL_set_bio(world->client, world->in, world->out);
    SSL_set_max_proto_version(world->client,
                              version ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_set_connect_state(world->client);
    for (int i = 0; i < 4; i++) {
        SSL_do_handshake(world->client);
        exchange(world);
    }
}

static void end(struct world *world)
{
    world->is_stuck = false;
    for (int i = 0; i < TURNS && !world->closed && world->waiting > 0; i++)
        turn(world);
    if (!world->closed && world->tunnel)
        http_tunnel_lost(world->tunnel, true);
    else if (!world->closed)
        http_connection_lost(world->connection, true);
    turn(world);
    if (!world->closed)
        http_connection_cut(world->connection, HTTP_GONE_SERVER);
    while (!world->closed)
        turn(world);
    http_connection_free(world->connection);
    http_tunnel_free(world->tunnel);
    SSL_free(world->client);
    buf_finish(&world->sent);
}

static void live_raw(struct view bytes, unsigned int seed)
{
    struct world world;

    begin(&world, true, seed);
    buf_add(&world.sent, bytes);
    deliver(&world);
    end(&world);
    buf_finish(&world.got);
}

static void live_flooded(unsigned int seed)
{
    struct world world;

    begin(&world, true, seed);
    begin_client(&world, 1);
    world.is_stuck = true;
    for (int i = 0; i < FLOOD && !world.closed; i++) {
        SSL_key_update(world.client, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(world.client);
        exchange(&world);
    }
    MUST(world.closed && world.waiting < (size_t)2 * TUNNEL_MAX_REPLIES);
    end(&world);
    buf_finish(&world.got);
}

static void live(struct world *world, struct view bytes, unsigned int seed,
                 bool is_changed)
{
    begin(world, true, seed);
    if (is_changed)
        world->change_at = choice(world, 1000 + (unsigned int)bytes.len);
    begin_client(world, seed & 1);
    client_send(world, bytes);
    SSL_shutdown(world->client);
    collect(world);
    deliver(world);
    for (int i = 0; i < TURNS && !world->closed && world->waiting > 0; i++)
        turn(world);
    client_read(world);
    end(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world plain, sealed;
    struct view bytes;

    if (!tls)
        set_up();
    if (size < 2)
        return 0;
    bytes = (struct view){ (const char *)data + 2, size - 2 };
    if (data[0] % MODES == RAW) {
        live_raw(bytes, data[1]);
        return 0;
    }
    if (data[0] % MODES == FLOODED) {
        live_flooded(data[1]);
        return 0;
    }
    bool is_changed = data[0] % MODES == CHANGED;
    begin(&plain, false, data[1]);
    buf_add(&plain.sent, bytes);
    deliver(&plain);
    end(&plain);
    live(&sealed, bytes, data[1], is_changed);
    /* 100 (Continue) is sent only when no byte of the body has come. */
    if (!memmem(data, size, "xpect", 5) && !memmem(data, size, "XPECT", 5)) {
        MUST(sealed.got.len <= plain.got.len);
        MUST(sealed.got.len == 0 ||
             memcmp(sealed.got.data, plain.got.data, sealed.got.len) == 0);
        MUST(is_changed || sealed.got.len == plain.got.len);
    }
    buf_finish(&plain.got);
    buf_finish(&sealed.got);
    return 0;
}
