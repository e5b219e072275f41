/* names.c - what every key and channel is called. */
#include "schemas/redis/names.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/id.h"
#include "schemas/message/limits.h"
#include "schemas/redis/slot.h"

struct view key_view(const struct key *key)
{
    return (struct view){ key->text, key->len };
}

bool names_init(struct names *names, const char *prefix, struct err *err)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz"
                                  "0123456789:._-";
    size_t len = strlen(prefix);

    if (len > NAMES_MAX_PREFIX)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "key prefix has %zu bytes, at most %d", len,
                       NAMES_MAX_PREFIX);
    if (strspn(prefix, allowed) != len)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "key prefix may hold A-Z a-z 0-9 : . _ -, not \"%s\"",
                       prefix);
    memcpy(names->prefix, prefix, len + 1);
    return true;
}

bool names_check_prefix(const char *prefix, struct err *err)
{
    struct names names;

    return names_init(&names, prefix, err);
}

/* Every part is bounded before it comes here, so a key always fits; a bug that
 * breaks this must not give a key that is cut. */
__attribute__((format(printf, 1, 2))) static struct key
key_make(const char *format, ...)
{
    struct key key;
    va_list args;

    va_start(args, format);
    int len = vsnprintf(key.text, sizeof(key.text), format, args);
    va_end(args);
    assert(len >= 0 && (size_t)len < sizeof(key.text));
    key.len = (size_t)len;
    return key;
}

struct encoded_label names_encode(struct view label)
{
    static const char digits[] = "0123456789ABCDEF";
    struct encoded_label encoded;
    char *to = encoded.text;

    assert(label.len <= MAX_NAME_BYTES);
    for (size_t i = 0; i < label.len; i++) {
        unsigned char byte = (unsigned char)label.data[i];

        if (name_has_byte((char)byte)) {
            *to++ = (char)byte;
        } else {
            *to++ = '%';
            *to++ = digits[byte >> 4];
            *to++ = digits[byte & 15];
        }
    }
    *to = '\0';
    return encoded;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Strict: only the form that names_encode() makes. Two forms of one label would
 * make two keys of one. */
bool names_decode(struct view encoded, char label[MAX_NAME_BYTES + 1])
{
    size_t len = 0;

    for (size_t i = 0; i < encoded.len; i++) {
        char byte = encoded.data[i];

        if (byte == '%') {
            int high =
                i + 2 < encoded.len ? digit_value(encoded.data[i + 1]) : -1;
            int low = high < 0 ? -1 : digit_value(encoded.data[i + 2]);

            if (low < 0)
                return false;
            byte = (char)(high << 4 | low);
            i += 2;
            if (name_has_byte(byte))
                return false; /* another form of the same label */
        } else if (!name_has_byte(byte)) {
            return false;
        }
        if (len == MAX_NAME_BYTES)
            return false;
        label[len++] = byte;
    }
    label[len] = '\0';
    return label_is_valid((struct view){ label, len });
}

struct view names_or_default(struct view name)
{
    return name.len > 0 ? name : VIEW("default");
}

unsigned int names_partition(struct view tenant, unsigned int partitions)
{
    assert(partitions > 0);
    return slot_crc16(names_or_default(tenant)) % partitions;
}

unsigned int names_slot(const struct names *names, unsigned int partition)
{
    struct key root = names_root(names, partition);

    return slot_of(key_view(&root));
}

struct key names_fleet(const struct names *names)
{
    return key_make("%sfleet", names->prefix);
}

struct key names_of_fleet(const struct names *names, const char *what)
{
    return key_make("%s{%sfleet}:%s", names->prefix, names->prefix, what);
}

struct key names_root(const struct names *names, unsigned int partition)
{
    assert(partition <= ID_MAX_PARTITION);
    return key_make("%s{%03x}:", names->prefix, partition);
}

struct key names_work(const struct names *names, unsigned int partition,
                      struct view queue, int priority)
{
    assert(queue.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:work:%.*s:%s", names->prefix, partition,
                    VIEW_ARG(queue), priority_names[priority]);
}

struct key names_dead(const struct names *names, unsigned int partition,
                      struct view queue)
{
    assert(queue.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:dead:%.*s", names->prefix, partition,
                    VIEW_ARG(queue));
}

struct key names_control(const struct names *names, unsigned int partition)
{
    return key_make("%s{%03x}:control", names->prefix, partition);
}

struct key names_blob(const struct names *names, unsigned int partition,
                      struct view sha256)
{
    assert(id_is_sha256(sha256));
    return key_make("%s{%03x}:blob:%.*s", names->prefix, partition,
                    VIEW_ARG(sha256));
}

struct key names_session(const struct names *names, unsigned int partition,
                         struct view tenant, struct view session)
{
    struct encoded_label owner = names_encode(tenant),
                         name = names_encode(session);

    return key_make("%s{%03x}:session:%s/%s", names->prefix, partition,
                    owner.text, name.text);
}

struct key names_sessions(const struct names *names, unsigned int partition)
{
    return key_make("%s{%03x}:sessions", names->prefix, partition);
}

struct key names_spent(const struct names *names, unsigned int partition,
                       struct view queue, struct view tenant)
{
    struct encoded_label owner = names_encode(tenant);

    assert(queue.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:spent:%.*s/%s", names->prefix, partition,
                    VIEW_ARG(queue), owner.text);
}

struct key names_of_queue(const struct names *names, unsigned int partition,
                          const char *what, struct view queue)
{
    assert(queue.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:%s:%.*s", names->prefix, partition, what,
                    VIEW_ARG(queue));
}

struct key names_of_root(const struct names *names, unsigned int partition,
                         const char *what)
{
    return key_make("%s{%03x}:%s", names->prefix, partition, what);
}

struct key names_schedule(const struct names *names, unsigned int partition,
                          struct view name)
{
    assert(name.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:schedule:%.*s", names->prefix, partition,
                    VIEW_ARG(name));
}

struct key names_file(const struct names *names, unsigned int partition,
                      struct view id)
{
    assert(id.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:file:%.*s", names->prefix, partition,
                    VIEW_ARG(id));
}

struct key names_conversation(const struct names *names, unsigned int partition,
                              struct view uuid)
{
    assert(uuid.len == ID_LEN);
    return key_make("%s{%03x}:conversation:%.*s", names->prefix, partition,
                    VIEW_ARG(uuid));
}

struct key names_container(const struct names *names, unsigned int partition,
                           const char *what, struct view id)
{
    assert(id.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:%s:%.*s", names->prefix, partition, what,
                    VIEW_ARG(id));
}

struct key names_repeats(const struct names *names, unsigned int partition,
                         struct view sha256)
{
    assert(id_is_sha256(sha256));
    return key_make("%s{%03x}:repeats:%.*s", names->prefix, partition,
                    VIEW_ARG(sha256));
}

struct key names_worker(const struct names *names, unsigned int partition,
                        struct view consumer)
{
    assert(consumer.len <= MAX_NAME_BYTES);
    return key_make("%s{%03x}:worker:%.*s", names->prefix, partition,
                    VIEW_ARG(consumer));
}

static struct key of_job(const struct names *names, const char *what,
                         struct view id)
{
    unsigned int partition = 0;
    bool valid = id_parse(id, &partition);

    assert(valid);
    (void)valid;
    return key_make("%s{%03x}:%s:%.*s", names->prefix, partition, what,
                    VIEW_ARG(id));
}

struct key names_job(const struct names *names, struct view id)
{
    return of_job(names, "job", id);
}

struct key names_body(const struct names *names, struct view id)
{
    return of_job(names, "body", id);
}

struct key names_journal(const struct names *names, struct view id)
{
    return of_job(names, "journal", id);
}

struct key names_events(const struct names *names, struct view id)
{
    return of_job(names, "events", id);
}

struct key names_result(const struct names *names, struct view id)
{
    return of_job(names, "result", id);
}

struct key names_asked(const struct names *names, struct view id)
{
    return of_job(names, "asked", id);
}
