/* list.c - GET /v1/jobs: the tenant's jobs, page by page.
 *
 * {"jobs": [...], "next": CURSOR}: next is absent on the last page. A page may
 * have no jobs although there are more. "ended_since": MS, on the last page of
 * a partition, when jobs that ended before are not listed any more. The jobs of
 * a tenant are in one partition, so a cursor of Redis is ours, too: in
 * hexadecimal, as it is any bytes. Who may operate sees the jobs of the tenant
 * that he names with ?tenant=, or of his own; with ?tenant=* those of all
 * tenants: one partition after the other, and before a cursor stand the three
 * digits of its partition. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/native/api_job.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/result.h"
#include "schemas/redis/listing.h"

enum { ROWS = 50, MAX_CURSOR = 2048, CURSOR_TEXT = 2 * MAX_CURSOR + 4 };

/* The state of the request. */
struct listing {
    bool of_all; /* tenants */
    unsigned int partition;
};

static json_t *json_of_row(const struct job_row *row)
{
    const struct {
        const char *name;
        struct view text;
    } texts[] = {
        { "id", row->id },
        { "state", view_of(job_state_names[row->state]) },
        { "place", row->place },
        { "queue", names_or_default(row->queue) },
        { "tenant", names_or_default(row->tenant) },
        { "session", row->session },
        { "worker", row->worker },
        { "reason", row->reason },
        { "priority", row->priority },
        { "call", row->call },
        { "error_code", row->error_code },
    };
    const struct {
        const char *name;
        uint64_t number;
    } numbers[] = {
        { "submitted_at", row->submitted_at },
        { "started_at", row->started_at },
        { "finished_at", row->finished_at },
        { "attempts", row->attempts },
        { "tokens", row->tokens },
        { "cost", row->cost },
        { "due_at", row->due_at },
    };
    json_t *json = json_object();

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].text.len > 0)
            json_object_set_new(
                json, texts[i].name,
                json_stringn(texts[i].text.data, texts[i].text.len));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].number > 0)
            json_object_set_new(json, numbers[i].name,
                                json_integer((json_int_t)numbers[i].number));
    return json;
}

static void add_cursor(json_t *json, const struct listing *listing,
                       unsigned int partitions, struct view cursor)
{
    CLEANUP(buf_finish) struct buf text = { .max = CURSOR_TEXT };
    unsigned int partition = listing->partition + (cursor.len == 0);

    if (listing->of_all && partition < partitions)
        buf_printf(&text, "%03x", partition);
    for (size_t i = 0; i < cursor.len; i++)
        buf_printf(&text, "%02x", (unsigned char)cursor.data[i]);
    if (text.len > 0)
        json_object_set_new(json, "next", json_stringn(text.data, text.len));
}

static bool decode_cursor(struct view text, struct buf *cursor)
{
    for (size_t i = 0; i + 1 < text.len; i += 2) {
        int high = byte_hex(text.data[i]), low = byte_hex(text.data[i + 1]);
        char byte = (char)(high * 16 + low);

        if (high < 0 || low < 0)
            return false;
        buf_append(cursor, &byte, 1);
    }
    return text.len % 2 == 0 && buf_ok(cursor);
}

/* Takes the partition from the head of a cursor; an empty one has 0. */
static bool decode_partition(struct view *text, unsigned int partitions,
                             unsigned int *partition)
{
    *partition = 0;
    if (text->len == 0)
        return true;
    for (size_t i = 0; i < 3; i++) {
        int digit = i < text->len ? byte_hex(text->data[i]) : -1;

        if (digit < 0)
            return false;
        *partition = *partition * 16 + (unsigned int)digit;
    }
    *text = (struct view){ text->data + 3, text->len - 3 };
    return *partition < partitions;
}

/* False: answered. */
static bool read_cursor(struct api_request *request, struct buf *cursor)
{
    struct listing *listing = request->state;
    struct view text = api_request_query(request, "cursor");
    unsigned int count = fleet_links_partitions(request->gateway->links);

    if ((!listing->of_all ||
         decode_partition(&text, count, &listing->partition)) &&
        decode_cursor(text, cursor))
        return true;
    api_request_wrong(request, "cursor",
                      "cursor is not the \"next\" of an earlier page");
    return false;
}

static void on_listed(struct api_request *request, const redisReply *reply)
{
    json_t *jobs, *json;
    struct view cursor;
    struct err err;
    uint64_t since;
    size_t rows;

    if (!transition_jobs_listed(reply, &cursor, &rows, &err)) {
        api_request_refuse(request, &err);
        return;
    }
    jobs = json_array();
    for (size_t i = 0; i < rows; i++) {
        struct job_row row;

        if (transition_job_row(reply, i, &row, &err) &&
            api_request_may_see(request, row.tenant))
            json_array_append_new(jobs, json_of_row(&row));
    }
    json = json_pack("{s:o}", "jobs", jobs);
    since = transition_jobs_since(reply);
    if (since > 0)
        json_object_set_new(json, "ended_since",
                            json_integer((json_int_t)since));
    add_cursor(json, request->state,
               fleet_links_partitions(request->gateway->links), cursor);
    api_request_json(request, 200, json);
}

/* The tenant whose jobs are asked for. False: answered. */
static bool read_tenant(struct api_request *request, struct view *tenant)
{
    struct view asked = api_request_query(request, "tenant");
    struct err err;

    *tenant = view_of(request->caller.tenant);
    if (asked.len == 0 || view_equal(asked, *tenant))
        return true;
    if (!label_is_valid(asked)) {
        api_request_wrong(request, "tenant",
                          "tenant has %zu bytes, should be 1 to %d of UTF-8 "
                          "without control characters",
                          asked.len, MAX_NAME_BYTES);
        return false;
    }
    if (request->caller.scopes & SCOPE_OPERATE) {
        ((struct listing *)request->state)->of_all = view_is(asked, "*");
        *tenant = view_is(asked, "*") ? VIEW("") : asked;
        return true;
    }
    err_set(&err, ERR_REJECT, "missing_scope",
            "the key does not have the scope \"%s\", which jobs of other "
            "tenants need",
            scope_word(SCOPE_OPERATE));
    api_request_refuse_as(request, 403, &err, 0);
    return false;
}

static bool list_has_word(struct view word, const char *const *words,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (view_is(word, words[i]))
            return true;
    return false;
}

/* Words with spaces between, each one of those. False: answered. */
static bool check_words(struct api_request *request, const char *name,
                        const char *const *words, size_t count)
{
    CLEANUP(buf_finish) struct buf all = { .max = 256 };
    struct view rest = api_request_query(request, name);

    while (rest.len > 0) {
        const char *space = memchr(rest.data, ' ', rest.len);
        size_t len = space ? (size_t)(space - rest.data) : rest.len;

        if (len > 0 &&
            !list_has_word((struct view){ rest.data, len }, words, count))
            break;
        len += space ? 1 : 0;
        rest = (struct view){ rest.data + len, rest.len - len };
    }
    if (rest.len == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        buf_printf(&all, "%s%s", i > 0 ? ", " : "", words[i]);
    api_request_wrong(request, name, "%s has \"%.*s\", must be words of %.*s",
                      name, VIEW_ARG(view_head(rest, 64)),
                      VIEW_ARG(buf_view(&all)));
    return false;
}

static bool check_metadata(struct api_request *request, struct view metadata)
{
    if (metadata.len == 0 || memchr(metadata.data, '=', metadata.len))
        return true;
    api_request_wrong(request, "metadata",
                      "metadata is \"%.*s\", must be KEY=VALUE",
                      VIEW_ARG(view_head(metadata, 64)));
    return false;
}

static const char *const places[] = { "running", "stream", "lane",
                                      "behind",  "later",  "ended" };

void list_jobs(struct api_request *request)
{
    struct job_filter filter = {
        .states = api_request_query(request, "state"),
        .places = api_request_query(request, "place"),
        .queue = api_request_query(request, "queue"),
        .session = api_request_query(request, "session"),
        .worker = api_request_query(request, "worker"),
        .id = api_request_query(request, "id"),
        .error_code = api_request_query(request, "error_code"),
        .reason = api_request_query(request, "reason"),
        .model = api_request_query(request, "model"),
        .metadata = api_request_query(request, "metadata"),
    };
    CLEANUP(buf_finish) struct buf cursor = { .max = MAX_CURSOR };
    struct listing *listing = calloc(1, sizeof(*listing));
    struct command command;
    uint64_t rows;

    if (!listing)
        abort();
    request->state = listing;
    request->state_free = free;
    if (!check_words(request, "state", job_state_names, JOB_STATES) ||
        !check_words(request, "place", places,
                     sizeof(places) / sizeof(places[0])) ||
        !check_metadata(request, filter.metadata) ||
        !read_tenant(request, &filter.tenant) ||
        !api_request_partition(request, filter.tenant, &listing->partition) ||
        !read_cursor(request, &cursor) ||
        !api_request_number(request, "limit", ROWS, LISTING_MOST_ROWS, &rows) ||
        !api_request_number(request, "since", 0, UINT64_C(1) << 53,
                            &filter.since) ||
        !api_request_number(request, "until", 0, UINT64_C(1) << 53,
                            &filter.until))
        return;
    transition_jobs(&command, &request->gateway->names, listing->partition,
                    buf_view(&cursor), rows > 0 ? rows : 1, &filter);
    api_request_call(request, listing->partition, &command, on_listed);
    command_finish(&command);
}
