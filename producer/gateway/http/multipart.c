/* multipart.c - reads multipart/form-data as it comes.
 *
 * A delimiter begins with CR, and has no other CR. So when a match breaks, what
 * was matched is data, and only the byte that broke it may begin a new match:
 * nothing has to be kept but a count. */
#include "producer/gateway/http/multipart.h"

#include <string.h>

enum {
    PART_DELIMITER, /* the first one, without its CRLF */
    PART_BEHIND,    /* CRLF or "--" */
    PART_HEAD,
    PART_DATA,
    PART_LAST, /* "--", and then CRLF or nothing */
};

static bool spoiled(struct err *err, const char *why)
{
    return err_set(err, ERR_REJECT, "invalid_multipart",
                   "the multipart body: %s", why);
}

/* -------------------------------------------------------------- parameters */

static void skip(struct view *rest, size_t len)
{
    rest->data += len;
    rest->len -= len;
}

/* A quoted value; "\" before a quote or itself is taken away. Out is empty. */
static bool read_quoted(struct view *rest, struct buf *out)
{
    for (skip(rest, 1); rest->len > 0; skip(rest, 1)) {
        if (rest->data[0] == '"') {
            skip(rest, 1);
            return buf_ok(out);
        }
        if (rest->len > 1 && rest->data[0] == '\\' &&
            byte_is_of(rest->data[1], "\"\\"))
            skip(rest, 1);
        buf_append(out, rest->data, 1);
    }
    return false;
}

static bool multipart_read_bare(struct view *rest, struct buf *out)
{
    while (rest->len > 0 && !byte_is_of(rest->data[0], "; \t\"\\,")) {
        buf_append(out, rest->data, 1);
        skip(rest, 1);
    }
    return buf_ok(out);
}

/* Reads one "; name=value". name is a view into rest; out gets the value. */
static bool read_parameter(struct view *rest, struct view *name,
                           struct buf *out)
{
    *rest = view_trimmed(*rest);
    if (rest->len == 0 || rest->data[0] != ';')
        return false;
    skip(rest, 1);
    *rest = view_trimmed(*rest);
    const char *equals = rest->len ? memchr(rest->data, '=', rest->len) : NULL;
    if (!equals || equals == rest->data)
        return false;
    *name = (struct view){ rest->data, (size_t)(equals - rest->data) };
    skip(rest, name->len + 1);
    buf_clear(out);
    return rest->len > 0 && rest->data[0] == '"'
               ? read_quoted(rest, out)
               : multipart_read_bare(rest, out);
}

/* ---------------------------------------------------------------- the type */

static bool is_boundary(struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.data[i];
        if (!((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
              (byte >= 'A' && byte <= 'Z') ||
              byte_is_of(byte, "'()+_,-./:=? ")))
            return false;
    }
    return text.len > 0 && text.len <= MULTIPART_MAX_BOUNDARY &&
           text.data[text.len - 1] != ' ';
}

bool multipart_init(struct multipart *multipart, struct view type,
                    const struct multipart_events *events, void *owner,
                    struct err *err)
{
    static const char media[] = "multipart/form-data";
    CLEANUP(buf_finish) struct buf value = { .max = MULTIPART_MAX_HEAD };
    struct view name;
    unsigned int boundaries = 0;

    *multipart = (struct multipart){ .events = events, .owner = owner };
    buf_init(&multipart->head, MULTIPART_MAX_HEAD);
    if (!view_starts_caseless(type, media))
        return spoiled(err, "its type is not multipart/form-data");
    skip(&type, sizeof(media) - 1);
    while (type.len > 0) {
        if (!read_parameter(&type, &name, &value))
            return spoiled(err, "its type has a malformed parameter");
        if (!view_is_caseless(name, "boundary"))
            continue;
        if (boundaries++ || !is_boundary(buf_view(&value)))
            return spoiled(err, "its boundary is not 1 to 70 of the bytes that "
                                "are allowed, or is there twice");
        memcpy(multipart->delimiter, "\r\n--", 4);
        memcpy(multipart->delimiter + 4, value.data, value.len);
        multipart->delimiter_len = 4 + value.len;
    }
    multipart->matched = 2; /* as if CRLF had come */
    return boundaries == 1 || spoiled(err, "its type has no boundary");
}

void multipart_finish(struct multipart *multipart)
{
    buf_finish(&multipart->head);
}

/* ---------------------------------------------------------------- the head */

static bool is_clean(struct view text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return false;
    return view_is_utf8(text);
}

struct disposition {
    struct buf name, file;
    bool has_name, has_file;
};

static bool read_disposition(struct disposition *found, struct view rest,
                             struct err *err)
{
    CLEANUP(buf_finish) struct buf value = { .max = MULTIPART_MAX_HEAD };
    struct view name;

    if (found->has_name || !view_starts_caseless(rest, "form-data"))
        return spoiled(err, "a part has not one Content-Disposition of "
                            "form-data");
    skip(&rest, sizeof("form-data") - 1);
    while (view_trimmed(rest).len > 0) {
        if (!read_parameter(&rest, &name, &value))
            return spoiled(err, "a part's Content-Disposition is malformed");
        bool is_file = view_is_caseless(name, "filename");
        bool *has = is_file ? &found->has_file : &found->has_name;
        if (view_is_caseless(name, "filename*"))
            return spoiled(err, "\"filename*\" is not allowed in a form");
        if (!is_file && !view_is_caseless(name, "name"))
            continue;
        if (*has || !is_clean(buf_view(&value)))
            return spoiled(err, "a part's name or filename is there twice, or "
                                "is not UTF-8 without control characters");
        *has = true;
        buf_add(is_file ? &found->file : &found->name, buf_view(&value));
    }
    return found->has_name || spoiled(err, "a part has no name");
}

/* One line of the head, without its CRLF. */
static bool read_line(struct disposition *found, struct view *type,
                      struct view line, struct err *err)
{
    static const char content_type[] = "content-type:";
    static const char disposition[] = "content-disposition:";

    if (!is_clean(line) || !memchr(line.data, ':', line.len) ||
        line.data[0] == ' ')
        return spoiled(err, "a part's head has a malformed line");
    if (view_starts_caseless(line, content_type)) {
        skip(&line, sizeof(content_type) - 1);
        *type = view_trimmed(line);
    } else if (view_starts_caseless(line, disposition)) {
        skip(&line, sizeof(disposition) - 1);
        return read_disposition(found, view_trimmed(line), err);
    }
    return true;
}

static void disposition_finish(struct disposition *found)
{
    buf_finish(&found->name);
    buf_finish(&found->file);
}

/* The head is whole, with the blank line at its end. */
static bool read_head(struct multipart *multipart, struct err *err)
{
    CLEANUP(disposition_finish)
    struct disposition found = {
        .name = { .max = MULTIPART_MAX_HEAD },
        .file = { .max = MULTIPART_MAX_HEAD },
    };
    struct view rest = buf_view(&multipart->head), type = { "", 0 };

    while (rest.len > 2) {
        const char *end = memmem(rest.data, rest.len, "\r\n", 2);
        struct view line = { rest.data, (size_t)(end - rest.data) };
        if (!read_line(&found, &type, line, err))
            return false;
        skip(&rest, line.len + 2);
    }
    if (!found.has_name)
        return spoiled(err, "a part has no Content-Disposition");
    multipart->events->on_part(multipart->owner,
                               &(struct multipart_part){
                                   .name = buf_view(&found.name),
                                   .file = buf_view(&found.file),
                                   .type = type,
                                   .has_file = found.has_file,
                               });
    buf_clear(&multipart->head);
    return true;
}

/* ------------------------------------------------------------------- bytes */

static void give(struct multipart *multipart, const char *data, size_t len)
{
    if (len > 0)
        multipart->events->on_data(multipart->owner,
                                   (struct view){ data, len });
}

/* Data up to a delimiter, which may have begun in a piece before. */
static void take_data(struct multipart *multipart, struct view *rest)
{
    const char *begin = rest->data;
    size_t len = 0; /* of data at begin */

    while (rest->len > 0 && multipart->matched < multipart->delimiter_len) {
        if (rest->data[0] == multipart->delimiter[multipart->matched]) {
            multipart->matched++;
        } else if (multipart->matched > 0) {
            /* What was matched is data. It may lie in pieces before. */
            give(multipart, begin, len);
            give(multipart, multipart->delimiter, multipart->matched);
            multipart->matched = 0;
            begin = rest->data;
            len = 0;
            continue;
        } else {
            len++;
        }
        skip(rest, 1);
    }
    give(multipart, begin, len);
    if (multipart->matched < multipart->delimiter_len)
        return;
    multipart->events->on_part_end(multipart->owner);
    multipart->matched = 0;
    multipart->state = PART_BEHIND;
}

static bool take_head(struct multipart *multipart, char byte, struct err *err)
{
    struct buf *head = &multipart->head;

    if (!buf_append(head, &byte, 1))
        return spoiled(err, "a part's head has more than 8 KiB");
    if (head->len < 4 || memcmp(head->data + head->len - 4, "\r\n\r\n", 4) != 0)
        return true;
    multipart->matched = 0;
    multipart->state = PART_DATA;
    return read_head(multipart, err);
}

/* "--" ends the body, CRLF begins a part. */
static bool take_behind(struct multipart *multipart, char byte, struct err *err)
{
    bool is_last = multipart->state == PART_LAST;
    const char *wanted = is_last ? "--\r\n" : "\r\n";

    if (multipart->state == PART_BEHIND && multipart->matched == 0 &&
        byte == '-') {
        multipart->state = PART_LAST;
        multipart->matched = 1;
        return true;
    }
    if (multipart->matched >= strlen(wanted) ||
        byte != wanted[multipart->matched])
        return spoiled(err,
                       "bytes behind a delimiter that do not belong there");
    if (++multipart->matched < 2 || is_last)
        return true;
    multipart->state = PART_HEAD;
    return ++multipart->parts <= MULTIPART_MAX_PARTS ||
           spoiled(err, "more than 100 parts");
}

static bool take_delimiter(struct multipart *multipart, char byte,
                           struct err *err)
{
    if (byte != multipart->delimiter[multipart->matched])
        return spoiled(err, "it does not begin with its boundary");
    if (++multipart->matched < multipart->delimiter_len)
        return true;
    multipart->matched = 0;
    multipart->state = PART_BEHIND;
    return true;
}

bool multipart_feed(struct multipart *multipart, struct view bytes,
                    struct err *err)
{
    while (bytes.len > 0) {
        char byte = bytes.data[0];
        bool fits = true;

        if (multipart->state == PART_DATA) {
            take_data(multipart, &bytes);
            continue;
        }
        if (multipart->state == PART_DELIMITER)
            fits = take_delimiter(multipart, byte, err);
        else if (multipart->state == PART_HEAD)
            fits = take_head(multipart, byte, err);
        else
            fits = take_behind(multipart, byte, err);
        if (!fits)
            return false;
        skip(&bytes, 1);
    }
    return true;
}

bool multipart_end(const struct multipart *multipart, struct err *err)
{
    bool is_whole = multipart->state == PART_LAST &&
                    (multipart->matched == 2 || multipart->matched == 4);

    return is_whole || spoiled(err, "it ends before its last delimiter");
}
