/* body.h - the JSON body of a request of OpenAI's APIs, read strictly.
 *
 *   bytes --body_parse()--> json --body_member(), body_text(), ...--> values
 *
 * A reader walks the body by struct body_value: a value, and the way to it on
 * the stack. So each refusal names its member as these APIs do,
 * "input[2].content[0].image_url", and says the value and the limit. null means
 * the same as an absent member. The first refusal is kept; every function
 * returns false from then on where it cannot go on. */
#ifndef PRODUCER_GATEWAY_BODY_BODY_H
#define PRODUCER_GATEWAY_BODY_BODY_H

#include <jansson.h>

#include "schemas/message/check.h"
#include "schemas/message/view.h"

/* Messages of quern are bounded the same way, so what is read here fits there.
 */
enum {
    BODY_MAX_DEPTH = CHECK_MAX_DEPTH,
    BODY_MAX_VALUES =
        100000, /* about: of objects and lists, names count, too */
};

/* A refusal, as {"error": {"message", "type", "param", "code"}} has it. */
struct body_error {
    unsigned int status; /* of HTTP */
    const char *type, *code;
    char param[192]; /* empty: it is about no member */
    char message[512];
};

struct body_value {
    const struct body_value *outer; /* NULL: the body itself */
    const char *name;               /* of a member; NULL: an item of a list */
    size_t index;
    json_t *json; /* borrowed; NULL: it is absent, or null */
    struct body_error *error;
};

/* One JSON object and nothing behind it, nested at most BODY_MAX_DEPTH deep, no
 * member twice, UTF-8 without lone surrogates and NUL: a new reference. NULL:
 * refused. */
json_t *body_parse(struct view bytes, struct body_error *error);

/* Borrows. */
struct body_value body_root(json_t *json, struct body_error *error);
struct body_value body_member(const struct body_value *object,
                              const char *name);
struct body_value body_item(const struct body_value *list, size_t index);

/* Fills the error with status 400 and the way to the value, and returns false.
 * code: static, a word of the API. */
bool body_refuse(const struct body_value *value, const char *code,
                 const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The value is of another type than "a number" or the like. */
bool body_refuse_type(const struct body_value *value, const char *expected);

/* A member that must be there. */
bool body_require(const struct body_value *object, const char *name);
/* No member has another name; names ends in NULL. */
bool body_check_names(const struct body_value *object,
                      const char *const *names);

/* A member that may be absent: then the function leaves the variable as it is,
 * and returns true. */
/* At most max characters; borrows. */
bool body_text(const struct body_value *object, const char *name, size_t max,
               struct view *text);
bool body_flag(const struct body_value *object, const char *name, bool *flag);
bool body_integer(const struct body_value *object, const char *name,
                  json_int_t least, json_int_t most, json_int_t *integer);
bool body_number(const struct body_value *object, const char *name,
                 double least, double most, double *number);
/* One of the words, which end in NULL; *word is that of the list. */
bool body_word(const struct body_value *object, const char *name,
               const char *const *words, const char **word);
/* An object, or a list of at most max items. *found has json NULL when the
 * member is absent. */
bool body_object(const struct body_value *object, const char *name,
                 struct body_value *found);
bool body_list(const struct body_value *object, const char *name, size_t max,
               struct body_value *found);

/* Characters of UTF-8. */
size_t body_characters(struct view text);
/* The text of a string; of anything else an empty view. */
struct view body_string(const json_t *json);

#endif
