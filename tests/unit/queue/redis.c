/* redis.c - what the function library promises, as far as the queue relies on
 * it: schemas/redis/transition.h and upkeep.h, in a struct that a failover
 * copies. Facts only: no lanes, tenants, budgets or events. */
#include <stdlib.h>
#include <string.h>

#include "schemas/message/result.h"
#include "tests/unit/queue/world.h"

enum { MEND_MS = 600000, MEND_STEP_MS = 5000, LATE_READER_MS = 60000 };

struct redis redis;

static struct state *const now = &redis.now;
static bool stirred; /* who waits may have something to get */

/* ----------------------------------------------------------------- replies */

/* One block: freeReplyObject() takes all of it. */
struct page {
    redisReply *next;
    redisReply **lists;
    char *text;
};

static redisReply *page_begin(struct page *page, size_t nodes, size_t bytes)
{
    redisReply *root =
        malloc(nodes * (sizeof(redisReply) + sizeof(void *)) + bytes);
    if (root == NULL)
        abort();
    page->next = root + 1;
    page->lists = (redisReply **)(root + nodes);
    page->text = (char *)(page->lists + nodes);
    memset(root, 0, sizeof(*root));
    return root;
}

void freeReplyObject(void *reply)
{
    free(reply);
}

static void set_text(struct page *page, redisReply *reply, int type,
                     const char *text)
{
    size_t len = strlen(text);
    memcpy(page->text, text, len + 1);
    memset(reply, 0, sizeof(*reply));
    reply->type = type;
    reply->str = page->text;
    reply->len = len;
    page->text += len + 1;
}

static void set_list(struct page *page, redisReply *reply, size_t count)
{
    memset(reply, 0, sizeof(*reply));
    reply->type = REDIS_REPLY_ARRAY;
    reply->element = page->lists;
    page->lists += count;
}

static redisReply *add(struct page *page, redisReply *list)
{
    redisReply *reply = page->next++;
    memset(reply, 0, sizeof(*reply));
    reply->type = REDIS_REPLY_NIL;
    list->element[list->elements++] = reply;
    return reply;
}

static void add_number(struct page *page, redisReply *list, uint64_t number)
{
    redisReply *reply = add(page, list);
    reply->type = REDIS_REPLY_INTEGER;
    reply->integer = (long long)number;
}

static void add_text(struct page *page, redisReply *list, const char *text)
{
    set_text(page, add(page, list), REDIS_REPLY_STRING, text);
}

static redisReply *reply_of(int type, const char *text)
{
    struct page page;
    redisReply *reply = page_begin(&page, 1, strlen(text) + 1);
    set_text(&page, reply, type, text);
    return reply;
}

redisReply *reply_error(const char *text)
{
    return reply_of(REDIS_REPLY_ERROR, text);
}

redisReply *reply_integer(long long number)
{
    struct page page;
    redisReply *reply = page_begin(&page, 1, 0);
    reply->type = REDIS_REPLY_INTEGER;
    reply->integer = number;
    return reply;
}

static redisReply *reply_nil(void)
{
    struct page page;
    redisReply *reply = page_begin(&page, 1, 0);
    reply->type = REDIS_REPLY_NIL;
    return reply;
}

redisReply *reply_push(const char *channel, const char *text)
{
    struct page page;
    redisReply *reply =
        page_begin(&page, 4, strlen(channel) + strlen(text) + 16);
    set_list(&page, reply, 3);
    add_text(&page, reply, "message");
    add_text(&page, reply, channel);
    add_text(&page, reply, text);
    return reply;
}

/* ------------------------------------------------------------------- facts */

static uint64_t number_of(struct view text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++)
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    return number;
}

static int name_of(struct view text)
{
    return text.data[1] - '0'; /* "c3" */
}

static struct row *row_of(struct view id)
{
    size_t job = work_job(id.data, id.len);
    return job < MOST_JOBS && now->rows[job].state != ROW_NONE ? &now->rows[job]
                                                               : NULL;
}

static size_t stream_of(const struct row *row)
{
    return ((size_t)row->partition * MOST_QUEUES + row->queue) * PRIORITIES +
           row->priority;
}

static bool *group_of(size_t stream)
{
    return &now->group[0][0][0] + stream;
}

static void enter_stream(struct row *row)
{
    row->state = ROW_QUEUED;
    row->nowhere = false;
    row->streamed = !now->paused[row->queue];
    row->reader = -1;
    row->entry = ++now->entries;
    stirred = true;
}

static void end_row(struct row *row, int state)
{
    row->state = ROW_ENDED;
    row->end = (uint8_t)state;
    row->streamed = row->nowhere = false;
}

/* Back into the queue; or it ends here. */
static void put_back(struct row *row)
{
    if (row->cancel)
        end_row(row, STATE_CANCELLED);
    else
        enter_stream(row);
}

static struct row *held_row(struct view id, struct view epoch)
{
    struct row *row = row_of(id);
    return row != NULL && row->state == ROW_RUNNING &&
                   row->epoch == number_of(epoch)
               ? row
               : NULL;
}

static size_t job_of(const struct row *row)
{
    return (size_t)(row - now->rows);
}

/* ------------------------------------------------------------------ taking */

struct taking {
    const struct client *client;
    uint64_t lease_ms, max_crashes, count, ticket;
    size_t claims, queues;
    struct {
        size_t stream;
        uint32_t entry;
    } claim[MOST_STREAMS];
    bool queue[MOST_QUEUES];
    /* What it answers. */
    size_t answers;
    struct {
        size_t job; /* MOST_JOBS: none, and why */
        const char *why;
    } answer[MOST_JOBS + MOST_STREAMS];
};

static bool end_instead(struct row *row, uint64_t max_crashes, const char **why)
{
    *why = row->cancel ? "cancelled" : "crashed";
    if (!row->cancel && row->crashes <= max_crashes)
        return false;
    end_row(row, row->cancel ? STATE_CANCELLED : STATE_FAILED);
    return true;
}

static void start_row(struct row *row, const struct taking *taking)
{
    row->state = ROW_RUNNING;
    row->streamed = false;
    row->reader = -1;
    row->epoch = world_now() > row->epoch ? world_now() : row->epoch + 1;
    row->attempts++;
    row->owner = (int8_t)taking->client->name;
    row->lease_ms = taking->lease_ms;
    row->lease_until = world_now() + taking->lease_ms;
    row->told = 0;
    row->orphaned = taking->client->closed;
    row->losses = redis.losses;
}

static void answer_row(struct taking *taking, struct row *row)
{
    const char *why = "";
    size_t job = MOST_JOBS;
    if (now->paused[row->queue]) {
        why = "paused";
        row->streamed = false;
        row->reader = -1;
    } else if (!end_instead(row, taking->max_crashes, &why)) {
        start_row(row, taking);
        job = job_of(row);
    }
    taking->answer[taking->answers].job = job;
    taking->answer[taking->answers++].why = why;
}

static void answer_claim(struct taking *taking, size_t claim)
{
    for (size_t i = 0; i < MOST_JOBS; i++) {
        struct row *row = &now->rows[i];
        if (row->state == ROW_QUEUED && row->streamed &&
            row->entry == taking->claim[claim].entry &&
            stream_of(row) == taking->claim[claim].stream &&
            row->reader == taking->client->name) {
            answer_row(taking, row);
            return;
        }
    }
    taking->answer[taking->answers].job = MOST_JOBS;
    taking->answer[taking->answers++].why = "taken";
}

static void make_group(size_t stream, unsigned int partition)
{
    if (!*group_of(stream))
        now->mended[partition] = 0;
    *group_of(stream) = true;
}

/* The oldest that nobody has read, of the queues. */
static struct row *next_unread(const struct taking *taking)
{
    struct row *best = NULL;
    for (size_t i = 0; i < MOST_JOBS; i++) {
        struct row *row = &now->rows[i];
        if (row->state == ROW_QUEUED && row->streamed && row->reader < 0 &&
            row->partition == taking->client->partition &&
            taking->queue[row->queue] && !now->paused[row->queue] &&
            (best == NULL || row->entry < best->entry))
            best = row;
    }
    if (best != NULL)
        make_group(stream_of(best), best->partition);
    return best;
}

static void read_taking(struct taking *taking, const struct request *request)
{
    const struct view *argv = request->argv;
    taking->lease_ms = number_of(argv[5]);
    taking->max_crashes = number_of(argv[6]);
    taking->count = number_of(argv[7]);
    for (int i = 8; i < request->argc; i += 2)
        if (view_is(argv[i], "ticket")) {
            taking->ticket = number_of(argv[i + 1]);
        } else if (view_is(argv[i], "queue")) {
            taking->queue[argv[i + 1].data[1] - '0'] = true;
        } else {
            taking->claim[taking->claims].stream = stream_number(argv[i + 1]);
            taking->claim[taking->claims++].entry =
                (uint32_t)strtoul(argv[i + 2].data, NULL, 10);
            i++;
        }
}

/* The same ticket again: what of it still runs there. */
static bool taken_before(struct taking *taking)
{
    const struct ticket *ticket =
        &now->taken[taking->client->partition][taking->client->name];
    if (ticket->number != taking->ticket || ticket->until <= world_now())
        return false;
    for (size_t i = 0; i < taking->claims; i++) {
        taking->answer[i].job = MOST_JOBS;
        taking->answer[i].why = "taken";
    }
    taking->answers = taking->claims;
    for (size_t i = 0; i < ticket->count; i++) {
        const struct row *row = &now->rows[ticket->jobs[i]];
        size_t at = ticket->claims[i];
        if (row->state != ROW_RUNNING || row->owner != taking->client->name)
            continue;
        at = at > 0 && at <= taking->claims ? at - 1 : taking->answers++;
        taking->answer[at].job = ticket->jobs[i];
        taking->answer[at].why = "";
    }
    return true;
}

static void keep_ticket(const struct taking *taking)
{
    struct ticket *ticket =
        &now->taken[taking->client->partition][taking->client->name];
    struct ticket kept = { .number = taking->ticket,
                           .until = world_now() + taking->lease_ms };
    for (size_t i = 0; i < taking->answers; i++)
        if (taking->answer[i].job < MOST_JOBS) {
            kept.claims[kept.count] = (uint8_t)(i < taking->claims ? i + 1 : 0);
            kept.jobs[kept.count++] = (uint8_t)taking->answer[i].job;
        }
    if (kept.count > 0)
        *ticket = kept;
}

static void add_started(struct page *page, redisReply *list, size_t job)
{
    static const char *const queues[] = { "q0", "q1" };
    const struct row *row = &now->rows[job];
    redisReply *one = add(page, list);
    set_list(page, one, 19);
    add_number(page, one, 1);
    add_text(page, one, "");
    add_text(page, one, world.ids[job]);
    add_number(page, one, row->epoch);
    add_number(page, one, row->attempts);
    add_number(page, one, row->crashes);
    add_number(page, one, row->cancel);
    add_number(page, one, world_now());
    add_number(page, one, 0);
    add_number(page, one, 1);
    add_text(page, one, "body");
    redisReply *journal = add(page, one);
    set_list(page, journal, row->journal);
    for (size_t i = 0; i < row->journal; i++)
        add_text(page, journal, "record");
    add_number(page, one, 0);
    add_text(page, one, "");
    add_text(page, one, "");
    add_text(page, one, queues[row->queue]);
    add_text(page, one, priority_names[row->priority]);
    add_text(page, one, "default");
    add_text(page, one, "");
}

static redisReply *print_taking(const struct taking *taking)
{
    struct page page;
    redisReply *root =
        page_begin(&page, 1 + taking->answers * (20 + MOST_RECORDS),
                   taking->answers * (160 + 8 * MOST_RECORDS));
    set_list(&page, root, taking->answers);
    for (size_t i = 0; i < taking->answers; i++) {
        if (taking->answer[i].job < MOST_JOBS) {
            add_started(&page, root, taking->answer[i].job);
            continue;
        }
        redisReply *one = add(&page, root);
        set_list(&page, one, 3);
        add_number(&page, one, 0);
        add_text(&page, one, taking->answer[i].why);
        add_text(&page, one, "");
    }
    return root;
}

static redisReply *take(struct client *client, const struct request *request)
{
    struct taking taking = { .client = client };
    struct row *row;
    read_taking(&taking, request);
    if (taking.count == 0 || taking.count < taking.claims)
        return reply_error("BADARG take");
    if (taking.ticket != 0 && taken_before(&taking))
        return print_taking(&taking);
    for (size_t i = 0; i < taking.claims; i++)
        answer_claim(&taking, i);
    size_t started = 0;
    for (size_t i = 0; i < taking.answers; i++)
        started += taking.answer[i].job < MOST_JOBS;
    while (started < taking.count && (row = next_unread(&taking)) != NULL) {
        answer_row(&taking, row);
        if (taking.answer[taking.answers - 1].job < MOST_JOBS)
            started++;
        else
            taking.answers--; /* only of claims it is told why not */
    }
    keep_ticket(&taking);
    return print_taking(&taking);
}

/* ----------------------------------------------------------------- reading */

bool redis_is_read(const struct request *request)
{
    return view_is(request->argv[0], "XREADGROUP");
}

enum { READ_STREAMS = 9 }; /* where they begin */

static bool groups_are_there(const struct request *request, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!*group_of(stream_number(request->argv[READ_STREAMS + i])))
            return false;
    return true;
}

static redisReply *print_entries(struct row *const *rows, size_t count)
{
    struct page page;
    redisReply *root =
        page_begin(&page, 1 + count * 8, count * (NAMES_MAX_KEY + 64));
    set_list(&page, root, count);
    for (size_t i = 0; i < count; i++) {
        char entry[32];
        redisReply *pair = add(&page, root);
        set_list(&page, pair, 2);
        add_text(&page, pair, world.streams[stream_of(rows[i])].text);
        redisReply *entries = add(&page, pair);
        set_list(&page, entries, 1);
        redisReply *one = add(&page, entries);
        set_list(&page, one, 2);
        snprintf(entry, sizeof(entry), "%u-0", rows[i]->entry);
        add_text(&page, one, entry);
        set_list(&page, add(&page, one), 0);
    }
    return root;
}

/* The oldest of each stream. NULL: there is none. */
static redisReply *read_entries(struct client *client,
                                const struct request *request, size_t count)
{
    struct row *best[MOST_STREAMS] = { NULL }, *found[MOST_STREAMS];
    size_t rows = 0;
    for (size_t i = 0; i < MOST_JOBS; i++) {
        struct row *row = &now->rows[i];
        size_t stream = stream_of(row);
        if (row->state == ROW_QUEUED && row->streamed && row->reader < 0 &&
            (best[stream] == NULL || row->entry < best[stream]->entry))
            best[stream] = row;
    }
    for (size_t i = 0; i < count; i++) {
        size_t stream = stream_number(request->argv[READ_STREAMS + i]);
        if (best[stream] == NULL)
            continue;
        best[stream]->reader = (int8_t)client->name;
        best[stream]->read_at = world_now();
        found[rows++] = best[stream];
    }
    return rows > 0 ? print_entries(found, rows) : NULL;
}

static redisReply *read_group(struct client *client,
                              const struct request *request)
{
    size_t count = (size_t)(request->argc - READ_STREAMS) / 2;
    if (!groups_are_there(request, count))
        return reply_error("NOGROUP No such key or consumer group");
    return read_entries(client, request, count);
}

/* ----------------------------------------------------- while it runs, ends */

static redisReply *beat(const struct request *request)
{
    struct page page;
    size_t count = (size_t)(request->argc - 5) / 2;
    redisReply *root = page_begin(&page, 1 + 2 * count, 0);
    int name = name_of(request->argv[4]);
    set_list(&page, root, 2 * count);
    for (size_t i = 0; i < count; i++) {
        struct row *row =
            held_row(request->argv[5 + 2 * i], request->argv[6 + 2 * i]);
        bool held = row != NULL && row->owner == name;
        if (held) {
            watch_beat(row, job_of(row));
            row->lease_until = world_now() + row->lease_ms;
        }
        add_number(&page, root, held);
        add_number(&page, root, held && row->cancel);
    }
    return root;
}

static uint32_t mark_of(struct view text)
{
    uint32_t mark = 2166136261;
    for (size_t i = 0; i < text.len; i++)
        mark = (mark ^ (unsigned char)text.data[i]) * 16777619;
    return mark;
}

/* id epoch index record */
static redisReply *journal(const struct request *request)
{
    struct row *row = held_row(request->argv[4], request->argv[5]);
    uint64_t index = number_of(request->argv[6]);
    uint32_t mark = mark_of(request->argv[7]);
    if (row == NULL)
        return reply_error("STALE the job is not yours");
    if (index < row->journal && row->records[index] == mark)
        return reply_integer(row->journal);
    if (index != row->journal || index >= MOST_RECORDS)
        return reply_error("MISPLACED there are more or less records");
    row->records[row->journal++] = mark;
    return reply_integer(row->journal);
}

/* id epoch number */
static redisReply *event(const struct request *request)
{
    struct row *row = held_row(request->argv[4], request->argv[5]);
    uint64_t number = number_of(request->argv[6]);
    if (row == NULL)
        return reply_error("STALE the job is not yours");
    if (number > row->told)
        row->told = (uint32_t)number;
    return reply_integer(row->told);
}

static int state_named(struct view word)
{
    int state = 0;
    while (!view_is(word, job_state_names[state]))
        state++;
    return state;
}

/* id epoch state, and seven more, of each */
static redisReply *finish_many(const struct request *request)
{
    struct page page;
    size_t count = (size_t)(request->argc - 4) / 10;
    redisReply *root = page_begin(&page, 1 + count, 64 * count);
    set_list(&page, root, count);
    for (size_t i = 0; i < count; i++) {
        const struct view *argv = request->argv + 4 + 10 * i;
        int state = state_named(argv[2]);
        struct row *row = held_row(argv[0], argv[1]), *other = row_of(argv[0]);
        bool again = other != NULL && other->state == ROW_ENDED &&
                     other->end == state && other->epoch == number_of(argv[1]);
        if (row != NULL)
            end_row(row, state);
        if (row != NULL || again)
            add_text(&page, root, job_state_names[state]);
        else
            set_text(&page, add(&page, root), REDIS_REPLY_ERROR,
                     other == NULL ? "GONE no such job"
                                   : "STALE the job is not yours");
    }
    return root;
}

static redisReply *leave(const struct request *request, uint64_t delay_ms)
{
    struct row *row = held_row(request->argv[4], request->argv[5]);
    struct row *other = row_of(request->argv[4]);
    if (row == NULL)
        return other != NULL && other->state != ROW_RUNNING &&
                       other->epoch == number_of(request->argv[5]) + 1
                   ? reply_of(REDIS_REPLY_STRING, "queued")
                   : reply_error(other == NULL ? "GONE no such job"
                                               : "STALE it is not yours");
    row->epoch++;
    row->attempts--;
    if (delay_ms == 0 || row->cancel) {
        put_back(row);
    } else {
        row->state = ROW_WAITING;
        row->due = world_now() + delay_ms;
    }
    return reply_of(REDIS_REPLY_STRING, "queued");
}

/* ------------------------------------------------------------------ upkeep */

static redisReply *pair_of(uint64_t first, uint64_t second)
{
    struct page page;
    redisReply *root = page_begin(&page, 3, 0);
    set_list(&page, root, 2);
    add_number(&page, root, first);
    add_number(&page, root, second);
    return root;
}

static redisReply *cursor_of(const char *cursor, uint64_t count)
{
    struct page page;
    redisReply *root = page_begin(&page, 3, 32);
    set_list(&page, root, 2);
    add_text(&page, root, cursor);
    add_number(&page, root, count);
    return root;
}

static redisReply *promote(const struct client *client)
{
    struct page page;
    uint64_t moved = 0, next = UINT64_MAX;
    unsigned int partition = client->partition;
    bool mend = now->mended[partition] <= world_now();
    watch_chore(client, CHORE_PROMOTE);
    for (size_t i = 0; i < MOST_JOBS; i++) {
        struct row *row = &now->rows[i];
        if (row->state != ROW_WAITING || row->partition != partition)
            continue;
        if (row->due <= world_now()) {
            put_back(row);
            moved++;
        } else if (row->due < next) {
            next = row->due;
        }
    }
    if (mend)
        now->mended[partition] = world_now() + MEND_STEP_MS;
    redisReply *root = page_begin(&page, 5, 0);
    set_list(&page, root, 4);
    add_number(&page, root, moved);
    add_number(&page, root,
               next == UINT64_MAX ? UINT64_MAX : next - world_now());
    set_list(&page, add(&page, root), 0);
    add_number(&page, root, mend);
    return root;
}

static redisReply *lapse(const struct client *client,
                         const struct request *request)
{
    uint64_t max_crashes = number_of(request->argv[4]);
    uint64_t most = number_of(request->argv[5]), jobs = 0;
    watch_chore(client, CHORE_LAPSE);
    if (most > 3)
        most = 3; /* Redis may stop early */
    for (size_t i = 0; i < MOST_JOBS && jobs < most; i++) {
        struct row *row = &now->rows[i];
        if (row->state != ROW_RUNNING || row->partition != client->partition ||
            row->lease_until > world_now())
            continue;
        watch_lapse(row, i);
        jobs++;
        watch_lost(i, row->epoch);
        row->epoch++;
        row->crashes++;
        if (row->crashes > max_crashes)
            end_row(row, STATE_FAILED);
        else
            put_back(row);
    }
    return pair_of(jobs, jobs == most);
}

/* stream lease_ms count cursor. In steps of two entries. */
static redisReply *reclaim(const struct client *client,
                           const struct request *request)
{
    size_t stream = stream_number(request->argv[4]);
    uint64_t lease_ms = number_of(request->argv[5]);
    uint32_t after = view_is(request->argv[7], "-")
                         ? 0
                         : (uint32_t)strtoul(request->argv[7].data, NULL, 10);
    struct host *host = host_named(client->name);
    make_group(stream, client->partition);
    for (int jobs = 0;; jobs++) {
        struct row *next = NULL;
        for (size_t i = 0; i < MOST_JOBS; i++) {
            struct row *row = &now->rows[i];
            if (row->state == ROW_QUEUED && row->streamed && row->reader >= 0 &&
                stream_of(row) == stream &&
                row->read_at + lease_ms <= world_now() && row->entry > after &&
                (next == NULL || row->entry < next->entry))
                next = row;
        }
        if (next == NULL)
            break;
        after = next->entry;
        put_back(next);
        if (jobs == 1) {
            char cursor[32];
            snprintf(cursor, sizeof(cursor), "%u-0", after);
            return cursor_of(cursor, 2);
        }
    }
    if (host != NULL)
        host->swept[stream] = world_now();
    watch_chore(client, CHORE_SWEEP);
    return cursor_of("-", 0);
}

/* A third of the jobs in each step. */
static redisReply *mend(const struct client *client,
                        const struct request *request)
{
    size_t at = (size_t)number_of(request->argv[5]);
    char cursor[24];
    uint64_t mended = 0;
    for (size_t i = at; i < at + MOST_JOBS / 3; i++) {
        struct row *row = &now->rows[i];
        if (row->partition != client->partition || !row->nowhere)
            continue;
        put_back(row);
        mended++;
    }
    at += MOST_JOBS / 3;
    snprintf(cursor, sizeof(cursor), "%zu", at < MOST_JOBS ? at : 0);
    /* As PEXPIRE: a step of a walk that began before a group was made anew must
     * not hide that another is wanted. */
    if (now->mended[client->partition] > world_now())
        now->mended[client->partition] =
            world_now() + (at < MOST_JOBS ? MEND_STEP_MS : MEND_MS);
    return cursor_of(cursor, mended);
}

static redisReply *report(const struct client *client,
                          const struct request *request)
{
    struct page page;
    unsigned int partition = client->partition;
    uint64_t ttl_ms = number_of(request->argv[5]);
    watch_chore(client, CHORE_REPORT);
    now->listed[partition][client->name] =
        ttl_ms > 0 ? world_now() + ttl_ms : 0;
    redisReply *root = page_begin(&page, 3, 0);
    set_list(&page, root, 2);
    add_number(&page, root, now->drained[client->name] && ttl_ms > 0);
    set_list(&page, add(&page, root), 0);
    return root;
}

/* ---------------------------------------------------------------- commands */

static redisReply *call_function(struct client *client,
                                 const struct request *request)
{
    struct view name = request->argv[1];
    name.data += strlen("quern_v1_");
    name.len -= strlen("quern_v1_");
    if (view_is(name, "take"))
        return take(client, request);
    if (view_is(name, "beat"))
        return beat(request);
    if (view_is(name, "journal"))
        return journal(request);
    if (view_is(name, "event"))
        return event(request);
    if (view_is(name, "finish_many"))
        return finish_many(request);
    if (view_is(name, "release"))
        return leave(request, 0);
    if (view_is(name, "wait"))
        return leave(request, number_of(request->argv[6]));
    if (view_is(name, "promote"))
        return promote(client);
    if (view_is(name, "lapse"))
        return lapse(client, request);
    if (view_is(name, "reclaim"))
        return reclaim(client, request);
    if (view_is(name, "mend"))
        return mend(client, request);
    if (view_is(name, "report"))
        return report(client, request);
    broken("the world knows every command", "%.*s", VIEW_ARG(name));
}

static redisReply *refusal(const struct request *request)
{
    struct view word = request->argv[0];
    bool function = view_is(word, "FCALL");
    struct view what = function ? request->argv[1] : word;
    if (redis.denied != NULL && redis.denied_until > world_now() &&
        view_is(what, redis.denied))
        return reply_error("NOPERM this user has no permissions");
    if (redis.fault != NULL && redis.fault_until > world_now() &&
        (function || view_is(word, "SET") || view_is(word, "XGROUP") ||
         view_is(word, "FUNCTION")))
        return reply_error(redis.fault);
    if (function && !now->library)
        return reply_error("ERR Function not found");
    return NULL;
}

static redisReply *make_stream(const struct client *client,
                               const struct request *request)
{
    size_t stream = stream_number(request->argv[2]);
    bool there = *group_of(stream);
    make_group(stream, client->partition);
    return there ? reply_error("BUSYGROUP it exists")
                 : reply_of(REDIS_REPLY_STATUS, "OK");
}

static redisReply *execute(struct client *client, const struct request *request)
{
    struct view word = request->argv[0];
    redisReply *reply = refusal(request);
    if (reply != NULL)
        return reply;
    now->version++;
    client->wrote = now->version;
    if (view_is(word, "FCALL"))
        return view_is(request->argv[1], "quern_v1_build")
                   ? reply_integer(transition_build)
                   : call_function(client, request);
    if (view_is(word, "XGROUP"))
        return make_stream(client, request);
    if (view_is(word, "SET"))
        return reply_of(REDIS_REPLY_STATUS, "OK");
    if (view_is(word, "INFO"))
        return reply_of(REDIS_REPLY_STRING, "");
    if (view_is(word, "FUNCTION")) {
        now->library = true;
        return reply_of(REDIS_REPLY_STRING, "quern_v1");
    }
    if (view_is(word, "CLIENT") && view_is(request->argv[1], "ID"))
        return reply_integer((long long)client->id);
    if (view_is(word, "CLIENT")) {
        links_unblock(number_of(request->argv[2]));
        return reply_integer(1);
    }
    broken("the world knows every command", "%.*s", VIEW_ARG(word));
}

static void copy_later(void);

/* An empty take is of no interest. */
static bool is_unheard(const struct request *request, const redisReply *reply)
{
    return redis.unheard != NULL && view_is(request->argv[0], "FCALL") &&
           view_is(request->argv[1], redis.unheard) &&
           (reply->type != REDIS_REPLY_ARRAY || reply->elements > 0);
}

static void look_again(void)
{
    if (stirred)
        links_look_again();
    stirred = false;
}

struct answer redis_execute(struct client *client,
                            const struct request *request)
{
    struct view word = request->argv[0];
    struct answer answer = { NULL, 0 };
    if (!redis.up)
        return (struct answer){ reply_error("LOADING it begins"), 0 };
    if (view_is(word, "WAIT")) {
        answer.wait_ms = number_of(request->argv[2]);
        answer.reply = redis_look_again(client, request, false);
        if (answer.reply == NULL)
            copy_later();
        return answer;
    }
    if (redis_is_read(request)) {
        answer.wait_ms = number_of(request->argv[7]);
        answer.reply = refusal(request);
        if (answer.reply == NULL)
            answer.reply = read_group(client, request);
        return answer;
    }
    answer.reply = execute(client, request);
    if (is_unheard(request, answer.reply) && !client->closed) {
        redis.unheard = NULL;
        links_cut(client->id);
    }
    look_again();
    return answer;
}

redisReply *redis_look_again(struct client *client,
                             const struct request *request, bool over)
{
    if (redis_is_read(request)) {
        redisReply *found = over ? NULL : read_group(client, request);
        return found == NULL && over ? reply_nil() : found;
    }
    if (redis.copy.version >= client->wrote)
        return reply_integer(1);
    return over ? reply_integer(0) : NULL;
}

/* ------------------------------------------------------------ for the world */

static struct due copying;

static void on_copy(void *owner)
{
    (void)owner;
    if (redis.up && !redis.lagging)
        redis_copy();
}

static void copy_later(void)
{
    if (copying.place == 0)
        due_set(&copying, between(1, 20));
}

void redis_copy(void)
{
    redis.copy = redis.now;
    links_look_again();
}

void redis_revert(void)
{
    redis.now = redis.copy;
    redis.losses++;
}

void redis_reset(void)
{
    memset(&redis, 0, sizeof(redis));
    redis.up = true;
    copying = (struct due){ .ring = on_copy };
}

void redis_submit(size_t job, unsigned int partition, unsigned int queue,
                  unsigned int priority)
{
    struct row *row = &now->rows[job];
    *row = (struct row){ .partition = (uint8_t)partition,
                         .queue = (uint8_t)queue,
                         .priority = (uint8_t)priority,
                         .owner = -1 };
    enter_stream(row);
    now->version++;
    links_look_again();
}

void redis_cancel(size_t job)
{
    struct row *row = &now->rows[job];
    if (row->state == ROW_NONE || row->state == ROW_ENDED)
        return;
    row->cancel = true;
    now->version++;
    if (row->state != ROW_RUNNING) {
        row->epoch++;
        end_row(row, STATE_CANCELLED);
        return;
    }
    char text[64];
    snprintf(text, sizeof(text), "cancel %s", world.ids[job]);
    links_publish(row->partition, text);
    watch_cancel(job);
}

void redis_pause(unsigned int queue, bool paused)
{
    now->paused[queue] = paused;
    now->version++;
    for (size_t i = 0; i < MOST_JOBS && !paused; i++) {
        struct row *row = &now->rows[i];
        if (row->state == ROW_QUEUED && row->queue == queue && !row->streamed &&
            !row->nowhere)
            enter_stream(row);
    }
    links_look_again();
}

void redis_destroy(unsigned int partition, unsigned int queue,
                   unsigned int priority)
{
    now->group[partition][queue][priority] = false;
    now->version++;
    stirred = true;
    for (size_t i = 0; i < MOST_JOBS; i++) {
        struct row *row = &now->rows[i];
        if (row->state == ROW_QUEUED && row->streamed &&
            row->partition == partition && row->queue == queue &&
            row->priority == priority) {
            row->streamed = false;
            row->nowhere = true;
            row->reader = -1;
        }
    }
    links_look_again(); /* who waited there is told so */
}
