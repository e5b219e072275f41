/* test_commands.c - commands without the library, as they go over the wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h needs those before it. */
#include <cmocka.h>

#include "schemas/message/buf.h"
#include "schemas/redis/blob.h"
#include "schemas/redis/clock.h"
#include "schemas/redis/endpoint.h"
#include "schemas/redis/info.h"
#include "schemas/redis/partitions.h"
#include "schemas/redis/stream.h"

#define SHA "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define BLOB "quern:{003}:blob:" SHA
#define WAITS "quern:{quern:fleet}:waits"
#define COUNTS "quern:{quern:fleet}:counts"
#define ID "my model#0123456789abcdef"

static struct names names;
static struct endpoint_id id;
static struct command command;

/* Its words, each with a slash behind it. Finishes it. */
static void goes_as(const char *wanted)
{
    CLEANUP(buf_finish) struct buf words;
    buf_init(&words, 4096);
    for (int i = 0; i < command.argc; i++) {
        buf_append(&words, command.argv[i], command.argvlen[i]);
        buf_append(&words, "/", 1);
    }
    buf_append(&words, "", 1);
    assert_string_equal(words.data, wanted);
    command_finish(&command);
}

static int begin(void **state)
{
    (void)state;
    id = endpoint_id_make(VIEW("my model"), "0123456789abcdef");
    return names_init(&names, "quern:", NULL) ? 0 : -1;
}

static void blobs(void **state)
{
    const struct view sha = VIEW(SHA);
    (void)state;
    blob_reserve(&command, &names, 3, sha, 60000);
    goes_as("SET/" BLOB "//PX/60000/NX/");
    blob_fill(&command, &names, 3, sha, VIEW("bytes"));
    goes_as("SET/" BLOB "/bytes/XX/KEEPTTL/");
    blob_extend(&command, &names, 3, sha, 60000);
    goes_as("PEXPIRE/" BLOB "/60000/GT/");
    blob_ask(&command, &names, 3, sha);
    goes_as("GET/" BLOB "/");
    blob_ask_head(&command, &names, 3, sha, 100);
    goes_as("GETRANGE/" BLOB "/0/100/");
    blob_ask_size(&command, &names, 3, sha);
    goes_as("STRLEN/" BLOB "/");
}

static void streams(void **state)
{
    const struct key two[] = {
        names_work(&names, 3, VIEW("day"), PRIORITY_NORMAL),
        names_work(&names, 3, VIEW("night"), PRIORITY_NORMAL),
    };
    (void)state;
    stream_make_group(&command, &two[0]);
    goes_as("XGROUP/CREATE/quern:{003}:work:day:normal/consumers/0/MKSTREAM/");
    stream_wait(&command, "me", two, 2, 2000);
    goes_as("XREADGROUP/GROUP/consumers/me/COUNT/1/BLOCK/2000/STREAMS/"
            "quern:{003}:work:day:normal/quern:{003}:work:night:normal/>/>/");
    stream_ask_client(&command);
    goes_as("CLIENT/ID/");
    stream_unblock(&command, 7);
    goes_as("CLIENT/UNBLOCK/7/");
}

static void endpoints(void **state)
{
    const struct view notes[ENDPOINT_NOTES] = {
        [NOTE_MODEL] = VIEW_INIT("m"),
        [NOTE_ERROR] = VIEW_INIT("HTTP 500"),
    };
    (void)state;
    endpoint_begin(&command);
    goes_as("MULTI/");
    endpoint_add_wait(&command, &names, &id, 90000);
    goes_as("ZADD/" WAITS "/GT/90000/" ID "/");
    endpoint_drop_waits(&command, &names, 80000);
    goes_as("ZREMRANGEBYSCORE/" WAITS "/-inf/80000/");
    endpoint_drop_wait(&command, &names, VIEW("x"));
    goes_as("ZREM/" WAITS "/x/");
    endpoint_keep_waits(&command, &names);
    goes_as("PEXPIRE/" WAITS "/691200000/");
    endpoint_ask_waits(&command, &names);
    goes_as("ZRANGE/" WAITS "/0/255/REV/WITHSCORES/");
    endpoint_add_count(&command, &names, &id, COUNT_CALLS, 12);
    goes_as("HINCRBY/" COUNTS "/" ID " calls/12/");
    endpoint_set_notes(&command, &names, &id, notes);
    goes_as("HSET/" COUNTS "/" ID " model/m/" ID " error/HTTP 500/");
    endpoint_keep_counts(&command, &names);
    goes_as("PEXPIRE/" COUNTS "/2592000000/");
    endpoint_end(&command);
    goes_as("EXEC/");
}

static void others(void **state)
{
    (void)state;
    partitions_set(&command, &names, 16);
    goes_as("HSETNX/quern:fleet/partitions/16/");
    partitions_ask(&command, &names);
    goes_as("HGET/quern:fleet/partitions/");
    clock_ask(&command);
    goes_as("TIME/");
    info_ask(&command);
    goes_as("INFO/");
}

static redisReply text_reply(char *text)
{
    return (redisReply){ .type = REDIS_REPLY_STRING,
                         .str = text,
                         .len = strlen(text) };
}

static void a_number_of_partitions_is_read(void **state)
{
    static struct {
        char text[8];
        size_t count; /* 0: it is none */
    } rows[] = { { "1", 1 }, { "256", 256 }, { "0", 0 },
                 { "", 0 },  { "257", 0 },   { "many", 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        redisReply reply = text_reply(rows[i].text);
        struct err err = { 0 };
        size_t count;
        bool is_read = partitions_read(&reply, &names, &count, &err);
        if (is_read != (rows[i].count > 0) ||
            (is_read ? count != rows[i].count
                     : strcmp(err.code, "bad_setting") != 0))
            fail_msg("\"%s\": %s", rows[i].text, err.text);
    }
}

static void a_time_is_read(void **state)
{
    char seconds[] = "1700000000", microseconds[] = "123456";
    redisReply parts[] = { text_reply(seconds), text_reply(microseconds) };
    redisReply *elements[] = { &parts[0], &parts[1] };
    redisReply reply = { .type = REDIS_REPLY_ARRAY,
                         .elements = 2,
                         .element = elements };
    uint64_t now;
    (void)state;
    assert_true(clock_read(&reply, &now));
    assert_true(now == 1700000000123);
    reply.elements = 1;
    assert_false(clock_read(&reply, &now));
    reply.elements = 2;
    parts[1].type = REDIS_REPLY_NIL;
    assert_false(clock_read(&reply, &now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs),
        cmocka_unit_test(streams),
        cmocka_unit_test(endpoints),
        cmocka_unit_test(others),
        cmocka_unit_test(a_number_of_partitions_is_read),
        cmocka_unit_test(a_time_is_read),
    };
    return cmocka_run_group_tests(tests, begin, NULL);
}
