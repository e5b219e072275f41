/* submits.c - jobs that come at the same time are submitted by one call. */
#include "producer/gateway/submits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/key_use.h"
#include "schemas/message/id.h"
#include "schemas/redis/reply.h"

enum {
    MOST = 64,              /* jobs of a call */
    MOST_BYTES = 256 << 10, /* of them, but for the last one */
};

/* A request whose job is to be submitted; it is held. */
struct pending_submit {
    struct api_request *request;
    const struct submit *submit;
    submits_done *done;
    struct submit_lane *lane;
    struct id id;
    struct err refused; /* why the key's limits do not allow it */
    STAILQ_ENTRY(pending_submit) next;
};
STAILQ_HEAD(pending_submits, pending_submit);

/* Of one partition. */
struct submit_lane {
    struct submits *owner;
    unsigned int partition;
    struct pending_submits waiting, sent; /* sent: by the call on its way */
    size_t sent_count;
    SLIST_ENTRY(submit_lane) next;
};

struct submits {
    struct gateway *gateway;
    SLIST_HEAD(, submit_lane) lanes; /* made when they are needed first */
    struct submit call[MOST];        /* the jobs of the call that is made */
};

struct submits *submits_new(struct gateway *gateway)
{
    struct submits *submits = calloc(1, sizeof(*submits));

    if (!submits)
        abort();
    submits->gateway = gateway;
    return submits;
}

void submits_free(struct submits *submits)
{
    struct submit_lane *lane;

    while (submits && (lane = SLIST_FIRST(&submits->lanes))) {
        SLIST_REMOVE_HEAD(&submits->lanes, next);
        free(lane);
    }
    free(submits);
}

static struct submit_lane *lane_of(struct submits *submits,
                                   unsigned int partition)
{
    struct submit_lane *lane;

    SLIST_FOREACH(lane, &submits->lanes, next)
    if (lane->partition == partition)
        return lane;
    lane = calloc(1, sizeof(*lane));
    if (!lane)
        abort();
    lane->owner = submits;
    lane->partition = partition;
    STAILQ_INIT(&lane->waiting);
    STAILQ_INIT(&lane->sent);
    SLIST_INSERT_HEAD(&submits->lanes, lane, next);
    return lane;
}

/* ---------------------------------------------------------------- the answer
 */

static struct pending_submit *take_first(struct pending_submits *list)
{
    struct pending_submit *first = STAILQ_FIRST(list);

    STAILQ_REMOVE_HEAD(list, next);
    return first;
}

static void drop_pending(struct pending_submit *one)
{
    api_request_drop(one->request);
    free(one);
}

/* Nothing was sent. */
static void drop_unsent(struct pending_submit *one)
{
    key_use_drop(one->request, view_of(one->id.text));
    drop_pending(one);
}

/* Whether that job, and no other one, is there now. */
static bool is_submitted(const struct pending_submit *one,
                         const redisReply *reply)
{
    struct view id;
    struct err err;
    bool existed;

    return transition_submitted(reply, &id, &existed, &err) &&
           view_is(id, one->id.text);
}

/* reply: of this job; NULL: why; the job may stand then. */
static void settle(struct pending_submit *one, const redisReply *reply,
                   const struct err *why)
{
    struct err err = { 0 };

    if (reply && !is_submitted(one, reply))
        key_use_drop(one->request, view_of(one->id.text));
    if (!reply)
        err = *why;
    if (!reply && strcmp(why->code, "redis_unavailable") == 0)
        err_set(&err, ERR_RETRY, "unknown_outcome",
                "job %s may stand: Redis has not answered; repeat the request "
                "with its Idempotency-Key",
                one->id.text);
    if (reply && !reply_ok(reply, &err))
        reply = NULL;
    if (one->request->exchange)
        one->done(one->request, reply, &err);
    drop_pending(one);
}

static void send_waiting(struct submit_lane *lane);

/* sent: of the call, in its order; reply: NULL: why. */
static void settle_all(struct pending_submits *sent, const redisReply *reply,
                       const struct err *why)
{
    for (size_t i = 0; !STAILQ_EMPTY(sent); i++)
        settle(take_first(sent), reply ? reply->element[i] : NULL, why);
}

static void on_submitted(void *owner, const redisReply *reply,
                         const struct err *why)
{
    struct submit_lane *lane = owner;
    struct pending_submits sent = lane->sent; /* one at least */
    size_t count = lane->sent_count;
    struct err err = { 0 };

    if (reply)
        fleet_links_heed(lane->owner->gateway->links, lane->partition, reply);
    STAILQ_INIT(&lane->sent);
    send_waiting(lane);
    if (reply && !transition_submitted_many(reply, count, &err))
        settle_all(&sent, NULL, &err);
    else
        settle_all(&sent, reply, why);
}

/* ------------------------------------------------------------------ the call
 */

/* Moves those that go together from waiting to sent. */
static size_t gather(struct submit_lane *lane)
{
    struct submit *call = lane->owner->call;
    size_t count = 0, bytes = 0;

    while (!STAILQ_EMPTY(&lane->waiting) && count < MOST &&
           bytes < MOST_BYTES) {
        struct pending_submit *one = take_first(&lane->waiting);

        if (!one->request->exchange) {
            drop_unsent(one);
            continue;
        }
        bytes += one->submit->body.len + one->submit->asked.len;
        call[count++] = *one->submit;
        STAILQ_INSERT_TAIL(&lane->sent, one, next);
    }
    return count;
}

static void refuse_sent(struct submit_lane *lane, const struct err *why)
{
    while (!STAILQ_EMPTY(&lane->sent)) {
        struct pending_submit *one = take_first(&lane->sent);

        if (one->request->exchange)
            one->done(one->request, NULL, why);
        drop_unsent(one);
    }
}

static void send_waiting(struct submit_lane *lane)
{
    const struct gateway *gateway = lane->owner->gateway;
    struct command command;
    struct err err = { 0 };
    size_t count;
    bool is_sent = false;

    while (!is_sent && (count = gather(lane)) > 0) {
        lane->sent_count = count;
        transition_submit_many(&command, &gateway->names, lane->partition,
                               lane->owner->call, count);
        is_sent = fleet_links_call(gateway->links, lane->partition, &command,
                                   on_submitted, lane, &err);
        command_finish(&command);
        if (!is_sent)
            refuse_sent(lane, &err);
    }
}

static void submit_pending(struct pending_submit *one)
{
    struct submit_lane *lane = one->lane;

    STAILQ_INSERT_TAIL(&lane->waiting, one, next);
    if (STAILQ_EMPTY(&lane->sent))
        send_waiting(lane);
}

static void refuse_pending(struct pending_submit *one)
{
    if (one->request->exchange)
        one->done(one->request, NULL, &one->refused);
    drop_pending(one);
}

void submits_ask_standing(struct command *command,
                          const struct gateway *gateway, unsigned int partition,
                          struct view tenant, struct view idempotency_key)
{
    struct key root = names_root(&gateway->names, partition);
    struct encoded_label owner = names_encode(tenant);
    CLEANUP(buf_finish) struct buf key = { .max = 2048 };

    buf_printf(&key, "%sidem:%s:", root.text, owner.text);
    buf_add(&key, idempotency_key); /* any bytes */
    command_init(command, "GET");
    command_add_copy(command, buf_view(&key));
}

/* A job with this idempotency key stands: to submit it once more makes none. */
static void on_standing(void *owner, const redisReply *reply,
                        const struct err *why)
{
    struct pending_submit *one = owner;

    (void)why;
    if (one->request->exchange && reply_view(reply).len > 0)
        submit_pending(one);
    else
        refuse_pending(one);
}

static bool ask_standing(struct pending_submit *one)
{
    const struct gateway *gateway = one->lane->owner->gateway;
    struct command command;
    struct err err;
    bool is_sent;

    submits_ask_standing(&command, gateway, one->lane->partition,
                         names_or_default(one->submit->tenant),
                         one->submit->idempotency_key);
    is_sent = fleet_links_call(gateway->links, one->lane->partition, &command,
                               on_standing, one, &err);
    command_finish(&command);
    return is_sent;
}

/* The key's limits allow it, or refuse. */
static void on_limits(void *owner, const struct err *refused)
{
    struct pending_submit *one = owner;

    if (!refused) {
        submit_pending(one);
        return;
    }
    one->refused = *refused;
    if (!one->request->exchange || one->submit->idempotency_key.len == 0 ||
        !ask_standing(one))
        refuse_pending(one);
}

void submits_add(struct api_request *request, const struct draft *draft,
                 submits_done *done)
{
    struct pending_submit *one = malloc(sizeof(*one));
    struct view id = view_of(draft->id.text);
    unsigned int partition = 0;

    if (!one)
        abort();
    id_parse(id, &partition);
    *one = (struct pending_submit){ .request = request,
                                    .submit = &draft->submit,
                                    .done = done,
                                    .lane = lane_of(request->gateway->submits,
                                                    partition) };
    memcpy(one->id.text, id.data, id.len + 1);
    api_request_hold(request);
    key_use_add(request, id, on_limits, one);
}
