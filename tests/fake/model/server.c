/* server.c - routes, and libmicrohttpd driven by libuv. */
#include "server.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

/* Takes the text. */
static enum MHD_Result send_text(struct MHD_Connection *connection,
                                 unsigned status, char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), text, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result queued;

    MHD_add_response_header(response, "Content-Type", "application/json");
    queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_json(struct MHD_Connection *connection,
                                 unsigned status, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    json_decref(value);
    return send_text(connection, status, text);
}

static enum MHD_Result send_error(struct MHD_Connection *connection,
                                  unsigned status, const char *message)
{
    return send_json(connection, status,
                     json_pack("{s:{s:s}}", "error", "message", message));
}

bool server_set_script(struct server *server, json_t *script)
{
    if (!json_is_array(script)) {
        json_decref(script);
        return false;
    }
    json_decref(server->script);
    server->script = script;
    return true;
}

static enum MHD_Result put_script(struct exchange *exchange)
{
    json_t *script = json_loadb(exchange->body ? exchange->body : "",
                                exchange->len, JSON_ALLOW_NUL, NULL);

    if (!server_set_script(exchange->server, script))
        return send_error(exchange->connection, 400, "a list is required");
    return send_json(exchange->connection, 200, json_true());
}

static enum MHD_Result get_models(struct exchange *exchange)
{
    return send_json(exchange->connection, 200,
                     json_pack("{s:s, s:[{s:s, s:s}]}", "object", "list",
                               "data", "id", "practice", "object", "model"));
}

static enum MHD_Result get_counts(struct exchange *exchange)
{
    return send_json(exchange->connection, 200,
                     counts_json(&exchange->server->counts));
}

static enum MHD_Result delete_counts(struct exchange *exchange)
{
    struct counts *counts = &exchange->server->counts;
    size_t open = counts->open;

    counts_finish(counts);
    counts_init(counts);
    counts->open = open;
    return send_json(exchange->connection, 200, json_true());
}

static enum MHD_Result delete_script(struct exchange *exchange)
{
    server_set_script(exchange->server, json_array());
    return send_json(exchange->connection, 200, json_true());
}

static const struct route {
    const char *method, *path;
    enum MHD_Result (*handle)(struct exchange *exchange);
} routes[] = {
    { "GET", "/v1/models", get_models },    { "GET", "/counts", get_counts },
    { "DELETE", "/counts", delete_counts }, { "PUT", "/script", put_script },
    { "DELETE", "/script", delete_script },
};

/* GET /v1/responses/ID, POST /v1/responses/ID/cancel */
static enum MHD_Result handle_kept(struct exchange *exchange,
                                   const char *method, const char *id)
{
    struct server *server = exchange->server;
    const char *verb = strchr(id, '/');
    char *own = strndup(id, verb ? (size_t)(verb - id) : strlen(id));
    uint64_t now_ms = uv_now(server->loop);
    struct kept_answer answer = { 0 };
    const char *include = MHD_lookup_connection_value(
        exchange->connection, MHD_GET_ARGUMENT_KIND, "include[]");
    bool encrypted =
        include && strcmp(include, "reasoning.encrypted_content") == 0;

    exchange->speech = &speech_responses;
    if (!exchange_is_authorized(exchange)) {
        free(own);
        return send_error(exchange->connection, 401, "Incorrect API key.");
    }
    if (!verb && strcmp(method, "GET") == 0) {
        server->counts.fetched++;
        answer = kept_get(&server->kept, own, now_ms, encrypted);
    } else if (verb && strcmp(verb, "/cancel") == 0 &&
               strcmp(method, "POST") == 0) {
        server->counts.cancelled++;
        answer = kept_cancel(&server->kept, own, now_ms);
    }
    free(own);
    return answer.text
               ? send_text(exchange->connection, answer.status, answer.text)
               : send_error(exchange->connection, 405, "no such verb");
}

static enum MHD_Result handle(struct exchange *exchange, const char *method,
                              const char *path)
{
    static const char requests[] = "/requests/";
    static const char responses[] = "/v1/responses/";

    exchange->speech = speech_at(path);
    if (exchange->speech && strcmp(method, "POST") == 0)
        return exchange_complete(exchange);
    for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
        if (strcmp(method, routes[i].method) == 0 &&
            strcmp(path, routes[i].path) == 0)
            return routes[i].handle(exchange);
    if (strncmp(path, responses, sizeof(responses) - 1) == 0)
        return handle_kept(exchange, method, path + sizeof(responses) - 1);
    if (strncmp(path, requests, sizeof(requests) - 1) == 0) {
        long long number = strtoll(path + sizeof(requests) - 1, NULL, 10);
        json_t *body = counts_request(&exchange->server->counts, number);

        if (body)
            return send_json(exchange->connection, 200, json_incref(body));
    }
    return send_error(exchange->connection, 404, "no such page");
}

/* The signature is libmicrohttpd's. NOLINTNEXTLINE(*-function-size) */
static enum MHD_Result on_request(void *owner,
                                  struct MHD_Connection *connection,
                                  const char *path, const char *method,
                                  const char *version, const char *data,
                                  size_t *len, void **state)
{
    struct exchange *exchange = *state;

    (void)version;
    if (!exchange) {
        *state = exchange_new(owner, connection);
        return MHD_YES;
    }
    if (*len > 0) {
        bool fed = exchange_feed(exchange, data, *len);

        *len = 0;
        return fed ? MHD_YES : MHD_NO;
    }
    return handle(exchange, method, path);
}

static void on_completed(void *owner, struct MHD_Connection *connection,
                         void **state, enum MHD_RequestTerminationCode how)
{
    (void)owner;
    (void)connection;
    (void)how;
    exchange_free(*state);
    *state = NULL;
}

void server_run(struct server *server)
{
    server->due = true;
}

static void on_due(uv_timer_t *timer)
{
    server_run(timer->data);
}

/* Once a round of the loop, however many answers go on in it: each run looks
 * at every suspended connection. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct server *server = prepare->data;
    MHD_UNSIGNED_LONG_LONG wait_ms;

    if (!server->due)
        return;
    server->due = false;
    MHD_run(server->daemon);
    if (MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES)
        uv_timer_start(&server->timer, on_due, wait_ms, 0);
    else
        uv_timer_stop(&server->timer);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    server_run(poll->data);
}

static struct MHD_Daemon *listen_on(struct server *server, unsigned port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr =
            htonl(server->everywhere ? INADDR_ANY : INADDR_LOOPBACK),
    };

    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request,
        server, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
        MHD_OPTION_CONNECTION_LIMIT, 20000u, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        4096u, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384,
        MHD_OPTION_END);
}

unsigned server_open(struct server *server, uv_loop_t *loop, unsigned port)
{
    const union MHD_DaemonInfo *info;

    server->loop = loop;
    server->daemon = listen_on(server, port);
    if (!server->daemon)
        return 0;
    counts_init(&server->counts);
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_poll_init(loop, &server->poll, info->epoll_fd);
    uv_timer_init(loop, &server->timer);
    uv_prepare_init(loop, &server->prepare);
    server->poll.data = server->timer.data = server->prepare.data = server;
    uv_prepare_start(&server->prepare, on_prepare);
    uv_poll_start(&server->poll, UV_READABLE, on_poll);
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info->port;
}

void server_close(struct server *server)
{
    uv_close((uv_handle_t *)&server->poll, NULL);
    uv_close((uv_handle_t *)&server->timer, NULL);
    uv_close((uv_handle_t *)&server->prepare, NULL);
    while (!LIST_EMPTY(&server->paused))
        exchange_resume(LIST_FIRST(&server->paused));
    MHD_stop_daemon(server->daemon);
    counts_finish(&server->counts);
    kept_finish(&server->kept);
    json_decref(server->script);
}
