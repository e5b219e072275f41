/* handle.c - opening a handle, and calling Redis through it. */
#include "producer/client/handle.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schemas/redis/slot.h"
#include "schemas/redis/transition.h"

uint64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t clock_after(uint64_t ms)
{
    uint64_t now = clock_ms();

    return ms < UINT64_MAX - now ? now + ms : UINT64_MAX;
}

void sleep_ms(uint64_t ms)
{
    struct timespec pause = { (time_t)(ms / 1000),
                              (long)(ms % 1000) * 1000000 };

    nanosleep(&pause, NULL);
}

void cleanup_reply(redisReply **reply)
{
    if (*reply)
        freeReplyObject(*reply);
}

bool handle_fail(struct quern_error *error, const struct err *err)
{
    if (error) {
        error->kind = err->kind == ERR_RETRY ? QUERN_RETRY : QUERN_REJECT;
        memcpy(error->code, err->code, sizeof(error->code));
        memcpy(error->text, err->text, sizeof(error->text));
    }
    return false;
}

bool handle_id(struct view *id, const char *text, struct err *err)
{
    *id = view_of(text);
    if (!id_parse(*id, NULL))
        return err_set(err, ERR_REJECT, "bad_field",
                       "id: \"%.*s\" is not a job id (a lower-case UUIDv7)",
                       VIEW_ARG(view_head(*id, 64)));
    return true;
}

static char *copy_of(const char *text)
{
    return text ? view_dup(view_of(text)) : NULL;
}

static bool set_tls(struct fleet_conns *fleet,
                    const struct quern_options *options, struct err *err)
{
    CLEANUP(cleanup_free) char *ca = copy_of(options->tls_ca);
    CLEANUP(cleanup_free) char *certificate = copy_of(options->tls_certificate);
    CLEANUP(cleanup_free) char *key = copy_of(options->tls_key);
    CLEANUP(cleanup_free) char *server_name = copy_of(options->tls_server_name);
    const struct address_tls set = address_tls_of_environment();
    const struct address_tls files = {
        .ca = ca ? ca : set.ca,
        .certificate = certificate ? certificate : set.certificate,
        .key = key ? key : set.key,
        .server_name = server_name ? server_name : set.server_name,
    };

    return address_set_tls(&fleet->address, &files, err);
}

static bool open_fleet(struct fleet_conns *fleet,
                       const struct quern_options *options, struct err *err)
{
    const char *url = options->url ? options->url : getenv("REDIS_URL");
    const char *prefix = options->prefix ? options->prefix : "quern:";
    const char *secret = options->sentinel_password
                             ? options->sentinel_password
                             : getenv("QUERN_SENTINEL_PASSWORD");
    const char *durability =
        options->durability ? options->durability : getenv("QUERN_DURABILITY");

    if (!address_parse(&fleet->address, view_of(url), err) ||
        !set_tls(fleet, options, err) ||
        !names_init(&fleet->names, prefix, err) ||
        !durability_parse(&fleet->durability, view_of(durability), err))
        return false;
    address_set_sentinel_password(&fleet->address, secret);
    fleet->role = view_dup(view_of(options->role ? options->role : "client"));
    return true;
}

struct quern *quern_open(const struct quern_options *options,
                         struct quern_error *error)
{
    const struct quern_options defaults = { 0 };
    struct err err = { 0 };
    struct quern *quern = calloc(1, sizeof(*quern));

    if (!quern || !(quern->fleet = calloc(1, sizeof(*quern->fleet))))
        abort();
    if (!options)
        options = &defaults;
    quern->timeout_ms =
        options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    if (!open_fleet(quern->fleet, options, &err)) {
        handle_fail(error, &err);
        quern_close(quern);
        return NULL;
    }
    return quern;
}

void quern_close(struct quern *quern)
{
    if (!quern)
        return;
    for (size_t i = 0; i < NAMES_MAX_PARTITIONS; i++)
        conn_free(quern->fleet->conns[i]);
    address_finish(&quern->fleet->address);
    free(quern->fleet->role);
    free(quern->fleet);
    free(quern);
}

const char *quern_version(void)
{
    return QUERN_VERSION;
}

/* One command on its way, over all the tries that it takes. */
struct redis_call {
    const struct command *command;
    /* Of a write: has the durability to wait for. NULL: it changes nothing. */
    const struct fleet_conns *fleet;
    struct key mark; /* of a write: in its slot */
    bool sent;       /* by the latest try */
    /* Some try was sent, and nobody has said what became of it: it may have
     * been done. */
    bool in_doubt;
};

static bool is_async(const struct redis_call *call)
{
    return !call->fleet || call->fleet->durability.kind == DURABLE_ASYNC;
}

static struct key mark_of(const struct fleet_conns *fleet,
                          unsigned int partition)
{
    return names_of_root(&fleet->names, partition, "mark");
}

/* Sends both commands of durability.h: the mark and the question. */
static bool send_question(struct conn *conn, const struct fleet_conns *fleet,
                          struct key mark_key, uint64_t timeout_ms,
                          struct err *err)
{
    struct command mark, question;
    bool sent;

    durability_mark(&mark, mark_key);
    durability_ask(&question, &fleet->durability, timeout_ms / 2 + 1);
    sent = conn_send(conn, &mark, timeout_ms, err) &&
           conn_send(conn, &question, timeout_ms, err);
    command_finish(&mark);
    command_finish(&question);
    return sent;
}

static bool receive_answer(struct conn *conn, const struct fleet_conns *fleet,
                           uint64_t timeout_ms, struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *mark = conn_receive(conn, timeout_ms, err);
    CLEANUP(cleanup_reply)
    redisReply *told = mark ? conn_receive(conn, timeout_ms, err) : NULL;

    return told && reply_ok(mark, err) &&
           durability_told(&fleet->durability, told, err);
}

/* The write and the question go over the same connection, one behind the other:
 * asked after a reconnect, the question would be about what another connection,
 * perhaps to another server, has written. */
static bool send_call(struct conn *conn, struct redis_call *call,
                      uint64_t timeout_ms, struct err *err)
{
    if (!conn_send(conn, call->command, timeout_ms, err))
        return false;
    call->sent = true;
    return is_async(call) ||
           send_question(conn, call->fleet, call->mark, timeout_ms, err);
}

/* One try: sends, waits for the reply, and of a durable write for the answer to
 * the question. Error replies come back as replies. Keeps in_doubt: set when
 * the command left and no server has said that it did nothing of it. */
static redisReply *exchange(struct conn *conn, struct redis_call *call,
                            uint64_t timeout_ms, struct err *err)
{
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    redisReply *given;
    struct err late = { 0 };

    call->sent = false;
    if (!send_call(conn, call, timeout_ms, err) ||
        !(reply = conn_receive(conn, timeout_ms, err))) {
        if (call->sent && !conn_was_refused(conn))
            call->in_doubt = true;
        return NULL;
    }
    if (reply->type == REDIS_REPLY_ERROR && !reply_is_refusal(reply))
        call->in_doubt = true;
    if (!is_async(call) &&
        !receive_answer(conn, call->fleet, timeout_ms, &late) &&
        reply->type != REDIS_REPLY_ERROR) {
        call->in_doubt = true;
        *err = late;
        return NULL;
    }
    given = reply;
    reply = NULL;
    return given;
}

bool handle_load_library(struct conn *conn, uint64_t timeout_ms,
                         struct err *err)
{
    struct command command;
    struct redis_call call = { .command = &command };
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    transition_load_command(&command);
    reply = exchange(conn, &call, timeout_ms, err);
    command_finish(&command);
    if (!reply)
        return false;
    return reply_ok(reply, err) ||
           err_prefix(err, "Redis lacks the function library quern_v1 and "
                           "does not let us load it (start a quern-consumer)");
}

static redisReply *call_once(struct conn *conn, struct redis_call *call,
                             uint64_t timeout_ms, struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply = exchange(conn, call, timeout_ms, err);
    redisReply *given;

    if (reply && reply_cure(reply) == CURE_LOAD) {
        if (!handle_load_library(conn, timeout_ms, err))
            return NULL;
        freeReplyObject(reply);
        reply = exchange(conn, call, timeout_ms, err);
    }
    if (!reply || !reply_ok(reply, err))
        return NULL;
    given = reply;
    reply = NULL;
    return given;
}

/* The first exchange of a handle is not tried again when no server was there at
 * all: that is more likely a wrong address than a server that is away, and a
 * person should not wait for ten seconds to be told. It asks for the build of
 * the function library, and loads the library where there is none, so that
 * clients of other languages find it too. A login that may not load it is told
 * so by the call that needs it. */
static bool handle_meet(struct quern *quern, struct conn *conn, struct err *err)
{
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;
    struct err ignored;

    if (quern->fleet->met)
        return true;
    transition_build_command(&command);
    reply = exchange(conn, &(struct redis_call){ .command = &command },
                     quern->timeout_ms, err);
    command_finish(&command);
    if (reply && reply_cure(reply) == CURE_LOAD)
        handle_load_library(conn, quern->timeout_ms, &ignored);
    quern->fleet->met =
        reply || (err->kind == ERR_RETRY && conn_was_answered(conn));
    return quern->fleet->met;
}

bool handle_may_pass(const struct err *fault)
{
    return fault->kind == ERR_RETRY &&
           strcmp(fault->code, "redis_unavailable") == 0;
}

/* A write that may have been done is not merely "unavailable": the caller has
 * to make sure before it writes something else. */
static void handle_tell(const struct redis_call *call, const struct err *fault,
                        struct err *err)
{
    if (call->fleet && call->in_doubt && handle_may_pass(fault))
        err_set(err, ERR_RETRY, "unknown_outcome",
                "sent, but not answered (%s)", fault->text);
    else
        *err = *fault;
}

/* Tries until the time of the call is over. Only a Redis that is away is waited
 * for; the last try may use what time is left, at least 1 ms. */
static redisReply *call(struct quern *quern, struct conn *conn,
                        struct redis_call *call, struct err *err)
{
    uint64_t end = clock_after(quern->timeout_ms);
    uint64_t backoff = FIRST_BACKOFF_MS;

    if (!handle_meet(quern, conn, err))
        return NULL;
    for (;;) {
        struct err fault = { 0 };
        uint64_t now = clock_ms();
        redisReply *reply =
            call_once(conn, call, now < end ? end - now : 1, &fault);

        if (reply)
            return reply;
        if (!handle_may_pass(&fault) || clock_ms() + backoff >= end) {
            handle_tell(call, &fault, err);
            return NULL;
        }
        sleep_ms(backoff);
        if (backoff < LAST_BACKOFF_MS)
            backoff *= 2;
    }
}

/* Which of the fleet's connections; without a cluster one serves all. */
static bool conn_of(struct fleet_conns *fleet, unsigned int partition,
                    size_t *index, struct err *err)
{
    *index = fleet->address.kind == ADDRESS_CLUSTER ? partition : 0;
    if (partition >= NAMES_MAX_PARTITIONS)
        return err_set(err, ERR_REJECT, "unknown_job",
                       "its id names partition %u, a fleet has at most %d",
                       partition, NAMES_MAX_PARTITIONS);
    if (!fleet->conns[*index])
        fleet->conns[*index] = conn_new(
            &fleet->address, names_slot(&fleet->names, partition), fleet->role);
    fleet->latest = partition;
    return true;
}

redisReply *handle_call(struct quern *quern, unsigned int partition,
                        const struct command *command, struct err *err)
{
    struct redis_call what = { .command = command };
    size_t index;

    if (!conn_of(quern->fleet, partition, &index, err))
        return NULL;
    return call(quern, quern->fleet->conns[index], &what, err);
}

/* Asks once, before anything is written there, whether the server can answer
 * the question of durability: one that cannot is refused while nothing has
 * happened yet. not_durable proves it, too: the server has understood the
 * question. */
static bool prove(struct quern *quern, struct conn *conn, bool *proven,
                  struct err *err)
{
    const struct durability *durability = &quern->fleet->durability;
    struct command question;
    struct redis_call what = { .command = &question };
    CLEANUP(cleanup_reply) redisReply *told = NULL;
    struct err fault = { 0 };

    if (durability->kind == DURABLE_ASYNC || *proven)
        return true;
    durability_ask(&question, durability, 1);
    told = exchange(conn, &what, quern->timeout_ms, err);
    command_finish(&question);
    if (!told)
        return false;
    *proven = durability_told(durability, told, &fault) ||
              strcmp(fault.code, "not_durable") == 0;
    if (!*proven)
        *err = fault;
    return *proven;
}

struct conn *handle_writer(struct quern *quern, unsigned int partition,
                           struct err *err)
{
    size_t index;

    if (!conn_of(quern->fleet, partition, &index, err))
        return NULL;
    struct conn *conn = quern->fleet->conns[index];
    return handle_meet(quern, conn, err) &&
                   prove(quern, conn, &quern->fleet->proven[index], err)
               ? conn
               : NULL;
}

/* Calls the function that takes many jobs with none, which changes nothing.
 * NULL: the server was not reached. */
static redisReply *ask_many(struct quern *quern, struct conn *conn,
                            unsigned int partition)
{
    struct command question;
    struct redis_call what = { .command = &question };
    struct err err = { 0 };
    redisReply *reply;

    transition_submit_many(&question, &quern->fleet->names, partition, NULL, 0);
    reply = exchange(conn, &what, quern->timeout_ms, &err);
    command_finish(&question);
    return reply;
}

/* A server without any library gets ours, if it lets us; an older one is not
 * ours to replace: consumers are upgraded first. */
static bool load_missing(struct quern *quern, struct conn *conn)
{
    struct command question;
    struct redis_call what = { .command = &question };
    struct err err = { 0 };

    transition_build_command(&question);
    CLEANUP(cleanup_reply)
    redisReply *reply = call_once(conn, &what, quern->timeout_ms, &err);
    command_finish(&question);
    return reply && reply->type == REDIS_REPLY_INTEGER &&
           reply->integer == transition_build;
}

bool handle_takes_many(struct quern *quern, unsigned int partition)
{
    struct err err = { 0 };
    struct conn *conn = handle_writer(quern, partition, &err);
    size_t index;

    if (!conn || !conn_of(quern->fleet, partition, &index, &err))
        return false;
    enum many_support *many = &quern->fleet->many[index];
    for (int i = 0; *many == MANY_UNKNOWN && i < 2; i++) {
        CLEANUP(cleanup_reply)
        redisReply *reply = ask_many(quern, conn, partition);

        if (reply && reply->type != REDIS_REPLY_ERROR)
            *many = MANY_YES;
        else if (i > 0 || !reply || reply_cure(reply) != CURE_LOAD ||
                 !load_missing(quern, conn))
            *many = MANY_NO;
    }
    return *many == MANY_YES;
}

void handle_ask_many_again(struct quern *quern)
{
    for (size_t i = 0; i < NAMES_MAX_PARTITIONS; i++)
        if (quern->fleet->many[i] == MANY_NO)
            quern->fleet->many[i] = MANY_UNKNOWN;
}

bool handle_doubt_many(struct quern *quern, unsigned int partition)
{
    struct err err = { 0 };
    size_t index;

    if (!conn_of(quern->fleet, partition, &index, &err) ||
        quern->fleet->many[index] != MANY_YES)
        return false;
    quern->fleet->many[index] = MANY_UNKNOWN;
    return true;
}

bool handle_secure(struct quern *quern, unsigned int partition, struct err *err)
{
    const struct fleet_conns *fleet = quern->fleet;
    size_t index;

    if (fleet->durability.kind == DURABLE_ASYNC)
        return true;
    return conn_of(quern->fleet, partition, &index, err) &&
           send_question(fleet->conns[index], fleet, mark_of(fleet, partition),
                         quern->timeout_ms, err) &&
           receive_answer(fleet->conns[index], fleet, quern->timeout_ms, err);
}

redisReply *handle_write(struct quern *quern, unsigned int partition,
                         const struct command *command, struct err *err)
{
    struct conn *conn = handle_writer(quern, partition, err);
    struct redis_call what = { .command = command,
                               .fleet = quern->fleet,
                               .mark = mark_of(quern->fleet, partition) };

    return conn ? call(quern, conn, &what, err) : NULL;
}

redisReply *handle_call_job(struct quern *quern, struct view id,
                            const struct command *command, struct err *err)
{
    unsigned int partition = 0;

    id_parse(id, &partition);
    return handle_call(quern, partition, command, err);
}

redisReply *handle_write_job(struct quern *quern, struct view id,
                             const struct command *command, struct err *err)
{
    unsigned int partition = 0;
    redisReply *reply;

    id_parse(id, &partition);
    reply = handle_write(quern, partition, command, err);
    if (!reply && (strcmp(err->code, "not_durable") == 0 ||
                   strcmp(err->code, "unknown_outcome") == 0))
        err_prefix(
            err,
            "job %.*s may stand: repeat the call with this id, or with the "
            "same idempotency key, to make sure",
            VIEW_ARG(id));
    return reply;
}

/* ------------------------------------------------------------ partitions */

enum { ASK_AGAIN_MS = 1000 };

static bool handle_read_partitions(const redisReply *reply, unsigned int *count,
                                   struct err *err)
{
    unsigned long number;

    *count = 0;
    if (reply->type == REDIS_REPLY_NIL)
        return true;
    number =
        reply->type == REDIS_REPLY_STRING ? strtoul(reply->str, NULL, 10) : 0;
    if (number == 0 || number > NAMES_MAX_PARTITIONS)
        return err_set(err, ERR_REJECT, "bad_message",
                       "the fleet has \"%.20s\" partitions, should be 1 to %d",
                       reply->str ? reply->str : "", NAMES_MAX_PARTITIONS);
    *count = (unsigned int)number;
    return true;
}

static struct conn *fleet_conn(const struct fleet_conns *fleet)
{
    struct key key = names_fleet(&fleet->names);

    return conn_new(&fleet->address, slot_of(key_view(&key)), fleet->role);
}

redisReply *handle_call_fleet(struct quern *quern,
                              const struct command *command, struct err *err)
{
    struct conn *conn = fleet_conn(quern->fleet);
    redisReply *reply =
        call(quern, conn, &(struct redis_call){ .command = command }, err);

    conn_free(conn);
    return reply;
}

redisReply *handle_write_fleet(struct quern *quern,
                               const struct command *command, struct err *err)
{
    struct fleet_conns *fleet = quern->fleet;
    struct conn *conn = fleet_conn(fleet);
    struct redis_call what = { .command = command,
                               .fleet = fleet,
                               .mark = names_of_fleet(&fleet->names, "mark") };
    redisReply *reply = NULL;

    if (handle_meet(quern, conn, err) &&
        prove(quern, conn, &fleet->fleet_proven, err))
        reply = call(quern, conn, &what, err);
    conn_free(conn);
    return reply;
}

static bool ask_partitions(struct quern *quern, unsigned int *count,
                           struct err *err)
{
    struct key key = names_fleet(&quern->fleet->names);
    struct command command;
    CLEANUP(cleanup_reply) redisReply *reply = NULL;

    command_init(&command, "HGET");
    command_add(&command, key_view(&key));
    command_add_text(&command, NAMES_FLEET_PARTITIONS);
    reply = handle_call_fleet(quern, &command, err);
    command_finish(&command);
    return reply && handle_read_partitions(reply, count, err);
}

/* Once set, the number never changes, so it is kept. Until then Redis is asked
 * again, but not with every call of a busy producer. */
bool handle_partitions(struct quern *quern, unsigned int *count,
                       struct err *err)
{
    struct fleet_conns *fleet = quern->fleet;
    uint64_t now = clock_ms();

    if (fleet->partitions == 0 && now >= fleet->ask_at) {
        if (!ask_partitions(quern, &fleet->partitions, err))
            return false;
        fleet->ask_at = now + ASK_AGAIN_MS;
    }
    *count = fleet->partitions ? fleet->partitions : 1;
    return true;
}

bool handle_partition(struct quern *quern, struct view tenant,
                      unsigned int *partition, struct err *err)
{
    unsigned int count;

    if (!handle_partitions(quern, &count, err))
        return false;
    *partition = names_partition(tenant, count);
    return true;
}

struct view entry_event(const redisReply *entry)
{
    const redisReply *fields;

    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2)
        return (struct view){ 0 };
    fields = entry->element[1];
    if (fields->type != REDIS_REPLY_ARRAY || fields->elements < 2)
        return (struct view){ 0 };
    return (struct view){ fields->element[1]->str, fields->element[1]->len };
}
