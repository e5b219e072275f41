/* reply_error.c - answers of model endpoints that are no replies.
 *
 * Endpoints share no form for errors, and many say what matters only in their
 * sentence. So the words of the endpoints that are in use are looked for here;
 * each list names the endpoint that says so. */
#include "consumer/model/reply_error.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "consumer/model/endpoint.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"

/* -------------------------------------------- bodies that are not an API's */

enum { TITLE_BYTES = 120 };

static bool is_page(struct view body)
{
    static const char *const heads[] = { "<!doctype html", "<html", "<head",
                                         "<body" };

    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        if (view_starts_caseless(body, heads[i]))
            return true;
    return false;
}

/* The compression by the first bytes of a body; NULL: none that is known. */
static const char *packing(struct view body)
{
    static const struct {
        const char *name;
        struct view head;
    } known[] = {
        { "gzip", VIEW_INIT("\x1F\x8B") },
        { "zstd", VIEW_INIT("\x28\xB5\x2F\xFD") },
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (body.len >= known[i].head.len &&
            memcmp(body.data, known[i].head.data, known[i].head.len) == 0)
            return known[i].name;
    return NULL;
}

/* The text between <name ...> and the next tag; empty: there is none. */
static struct view element(struct view page, const char *name)
{
    for (size_t at = 0; at < page.len; at++) {
        struct view rest = { page.data + at, page.len - at };
        const char *end;

        if (!view_starts_caseless(rest, name))
            continue;
        end = memchr(rest.data, '>', rest.len);
        if (!end)
            break;
        rest.len -= (size_t)(end + 1 - rest.data);
        rest.data = end + 1;
        end = memchr(rest.data, '<', rest.len);
        if (end)
            rest.len = (size_t)(end - rest.data);
        return view_trimmed(rest);
    }
    return VIEW("");
}

/* The text of the page: without tags, with single blanks. */
static void reply_error_add_text(struct buf *out, struct view page)
{
    bool tag = false, blank = true;

    for (size_t i = 0; i < page.len; i++) {
        char byte = page.data[i];
        bool gap = tag || byte == '<' || isspace((unsigned char)byte);

        tag = byte == '<' || (tag && byte != '>');
        if (gap && !blank)
            buf_append(out, " ", 1);
        if (!gap)
            buf_append(out, &byte, 1);
        blank = gap;
    }
}

static void name_page(struct view page, char *text, size_t size)
{
    CLEANUP(buf_finish) struct buf words;
    struct view title = element(page, "<title");
    struct view shown;

    buf_init(&words, page.len);
    if (title.len == 0)
        title = element(page, "<h1");
    reply_error_add_text(&words, title.len > 0 ? title : page);
    shown = view_head(view_trimmed(buf_view(&words)), TITLE_BYTES);
    snprintf(text, size, "an HTML page%s%.*s", shown.len > 0 ? ": " : "",
             VIEW_ARG(shown));
}

bool strange_body(struct view body, char *text, size_t size)
{
    const char *packed = packing(body);

    if (body.len >= 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0)
        body = (struct view){ body.data + 3, body.len - 3 };
    body = view_trimmed(body);
    if (packed)
        snprintf(text, size, "a compressed body (%s), which nobody asked for",
                 packed);
    else if (is_page(body))
        name_page(body, text, size);
    else
        return false;
    return true;
}

/* -------------------------------------------------- how long a request was */

/* A number of tokens; 0 when it is out of bounds. */
static uint64_t reply_size_of(long long tokens)
{
    bool sound = tokens >= LEAST_WINDOW && tokens <= MOST_WINDOW;

    return sound ? (uint64_t)tokens : 0;
}

/* Finds the words in the sentence, and the number right behind or right before
 * them; 0: they are not there. */
typedef uint64_t number_at(const char *sentence, const char *words);

static uint64_t number_behind(const char *sentence, const char *words)
{
    const char *at = strcasestr(sentence, words);

    return !at ? 0 : strtoull(at + strlen(words), NULL, 10);
}

static uint64_t number_before(const char *sentence, const char *words)
{
    const char *at = strcasestr(sentence, words);

    if (!at || at == sentence || !isdigit((unsigned char)at[-1]))
        return 0;
    while (at > sentence && isdigit((unsigned char)at[-1]))
        at--;
    return strtoull(at, NULL, 10);
}

static uint64_t reply_error_find_number(const char *sentence,
                                        const char *const *words,
                                        number_at *number)
{
    uint64_t found = 0;

    for (; *words && found == 0; words++)
        found = number(sentence, *words);
    return found;
}

static uint64_t number_over(const char *sentence, const char *words)
{
    const char *at = strcasestr(sentence, words);

    return !at ? 0 : number_behind(at, " > ");
}

static const char *const window_is[] = {
    "maximum context length is ", /* OpenAI, vLLM, DeepSeek, OpenRouter */
    "maximum prompt length is ",  /* xAI */
    "maximum context length of ", /* SGLang: three of its sentences */
    "context length (",
    "maximum allowed length (",
    "available context size (", /* llama.cpp */
    "tokens allowed (",         /* Gemini */
    "maximum number of tokens (",
    "too large for model with ", /* Mistral */
    "model length of ",          /* vLLM */
    "input length of ",
    "exceeded model token limit: ", /* Kimi */
    "exceeds the limit of ",        /* Copilot */
    "must be <= ",                  /* TGI */
    NULL,
};

/* Anthropic: what it has counted, " > ", and the window. Other numbers stand
 * around that sign as well: bytes. */
static const char *const over_is[] = {
    "prompt is too long: ",
    "exceed context limit: ",
    NULL,
};

static const char *const request_is[] = {
    "messages resulted in ",     /* OpenAI */
    "prompt contains at least ", /* vLLM */
    "your request has ",
    "decoder prompt (length ",
    "request contains ",    /* xAI */
    "prompt contains ",     /* Mistral */
    "prompt is too long: ", /* Anthropic; what it says of both comes next */
    "exceed context limit: ",
    "request (",           /* llama.cpp */
    "input token count (", /* Gemini */
    "the input (",         /* SGLang */
    "input length (",
    "input length ",
    "(requested: ",    /* Kimi */
    "token count of ", /* Copilot */
    "given: ",         /* TGI */
    NULL,
};
static const char *const is_request[] = {
    " tokens from the input", /* SGLang */
    " in your prompt",        /* OpenAI's completions */
    NULL,
};

/* These count the tokens that are left to the reply, too. */
static const char *const all_is[] = {
    "you requested about ", /* OpenRouter */
    "you requested ",       /* OpenAI, vLLM, DeepSeek */
    NULL,
};
static const char *const is_reply[] = {
    " in the completion",
    " in the output",
    NULL,
};

static uint64_t read_request(const char *sentence)
{
    uint64_t own = reply_error_find_number(sentence, request_is, number_behind);
    uint64_t all = reply_error_find_number(sentence, all_is, number_behind);
    uint64_t reply = reply_error_find_number(sentence, is_reply, number_before);

    if (own == 0)
        own = reply_error_find_number(sentence, is_request, number_before);
    if (own > 0)
        return own;
    return all > reply ? all - reply : 0;
}

static uint64_t read_window(const char *sentence)
{
    uint64_t window =
        reply_error_find_number(sentence, window_is, number_behind);

    return window > 0 ? window
                      : reply_error_find_number(sentence, over_is, number_over);
}

static uint64_t bounded(uint64_t tokens)
{
    return tokens > MOST_WINDOW ? 0 : reply_size_of((long long)tokens);
}

static struct reply_size reply_size_read(const char *sentence)
{
    return (struct reply_size){
        .request = bounded(read_request(sentence)),
        .window = bounded(read_window(sentence)),
    };
}

/* ------------------------------------------------------------------ errors */

static void reply_error_copy_text(char *to, size_t size, struct view text)
{
    text = view_head(text, size - 1);
    if (text.len > 0)
        memcpy(to, text.data, text.len);
    to[text.len] = '\0';
}

/* Codes are words at some endpoints and numbers at others. */
static void copy_word(char *to, size_t size, const json_t *object,
                      const char *name)
{
    const json_t *value = json_object_get(object, name);

    if (json_is_integer(value))
        snprintf(to, size, "%lld", (long long)json_integer_value(value));
    else
        reply_error_copy_text(to, size, reply_json_text(object, name));
}

static uint64_t tokens_of(const json_t *object, const char *name)
{
    return reply_size_of(json_integer_value(json_object_get(object, name)));
}

static struct view sentence_of(const json_t *object)
{
    static const char *const names[] = { "message", "detail", "error", "msg",
                                         "title" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct view text = reply_json_text(object, names[i]);

        if (text.len > 0)
            return text;
    }
    return (struct view){ "", 0 };
}

bool reply_error_is(const json_t *json)
{
    const json_t *error = json_object_get(json, "error");

    if (json_is_array(json)) /* Google's; another list is no error */
        return json_is_object(json_array_get(json, 0)) &&
               reply_error_is(json_array_get(json, 0));
    if (json_is_object(error) || json_is_string(error))
        return true;
    if (json_object_get(json, "choices"))
        return false;
    return view_is(reply_json_text(json, "object"), "error") ||
           view_is(reply_json_text(json, "type"), "error") ||
           json_array_size(json_object_get(json, "errors")) > 0 ||
           (json_object_get(json, "detail") && !json_object_get(json, "type"));
}

/* Google wraps the error in a list; FastAPI says "detail", a text, an object or
 * a list of what is wrong; Cloudflare says "errors". */
static const json_t *inside(const json_t *json)
{
    static const char *const names[] = { "error", "detail", "errors" };

    if (json_is_array(json))
        return json_array_get(json, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const json_t *inner = json_object_get(json, names[i]);

        if (json_object_size(inner) > 0 || json_array_size(inner) > 0)
            return inner;
    }
    return NULL;
}

/* FastAPI's: where in the request something is wrong, before what is wrong;
 * the last part is the name of a parameter. */
static void read_place(struct reply_error *error, const json_t *json)
{
    const json_t *part, *place = json_object_get(json, "loc");
    CLEANUP(buf_finish) struct buf text;
    size_t i;

    buf_init(&text, sizeof(error->message) - 1);
    json_array_foreach(place, i, part) {
        if (!json_is_string(part))
            continue;
        buf_printf(&text, "%s%s", text.len > 0 ? "." : "",
                   json_string_value(part));
        reply_error_copy_text(error->param, sizeof(error->param),
                              view_of(json_string_value(part)));
    }
    if (text.len == 0)
        return;
    buf_printf(&text, ": %s", error->message);
    if (buf_ok(&text))
        reply_error_copy_text(error->message, sizeof(error->message),
                              buf_view(&text));
}

void reply_error_read(struct reply_error *error, const json_t *json)
{
    const json_t *inner;

    *error = (struct reply_error){ 0 };
    for (int depth = 0; depth < 3 && (inner = inside(json)); depth++)
        json = inner;
    reply_error_copy_text(
        error->message, sizeof(error->message),
        json_is_string(json)
            ? (struct view){ json_string_value(json), json_string_length(json) }
            : sentence_of(json));
    copy_word(error->type, sizeof(error->type), json, "type");
    copy_word(error->code, sizeof(error->code), json, "code");
    copy_word(error->param, sizeof(error->param), json, "param");
    read_place(error, json);
    error->size.request = tokens_of(json, "n_prompt_tokens"); /* llama.cpp */
    error->size.window = tokens_of(json, "n_ctx");
}

void reply_error_parse(struct reply_error *error, struct view body)
{
    json_t *json = reply_json_parse(body);

    reply_error_read(error, json);
    json_decref(json);
    if (!*error->message &&
        !strange_body(body, error->message, sizeof(error->message)))
        reply_error_copy_text(error->message, sizeof(error->message), body);
}

/* Without the query of the location: it may hold a secret. */
void reply_error_name(struct reply_error *error, unsigned status,
                      const char *location, const char *encoding)
{
    char *text = error->message;
    size_t size = sizeof(error->message);

    if (status / 100 == 3)
        snprintf(text, size, "a redirect%s%.*s, which is not followed",
                 *location ? " to " : "", (int)strcspn(location, "?#"),
                 location);
    else if (*encoding && strcasecmp(encoding, "identity") != 0)
        snprintf(text, size,
                 "a compressed body (%.32s), which nobody asked for", encoding);
}

static bool says(const struct reply_error *error, const char *words)
{
    return strcasestr(error->code, words) || strcasestr(error->type, words) ||
           strcasestr(error->message, words);
}

/* What an error means whatever status it came with. The first row that fits
 * counts: throttling comes before lengths, as "Too many tokens, please wait"
 * is the former. */
static const struct rule {
    const char *words;
    enum err_kind kind;
    const char *code;
} rules[] = {
    { "insufficient_quota", ERR_REJECT, "model_rejected" },
    { "exceeded your current quota", ERR_REJECT, "model_rejected" },
    { "spend_limit", ERR_REJECT, "model_rejected" },
    { "tool_use_failed", ERR_RETRY, "model_garbage" },
    { "content_filter", ERR_REJECT, "model_refused" },
    { "content_policy", ERR_REJECT, "model_refused" },
    { "ResponsibleAIPolicyViolation", ERR_REJECT, "model_refused" },
    { "rate_limit", ERR_RETRY, "model_unavailable" },
    { "too many requests", ERR_RETRY, "model_unavailable" },
    { "tokens, please wait", ERR_RETRY, "model_unavailable" },
    { "overloaded", ERR_RETRY, "model_unavailable" },
    { "context_length_exceeded", ERR_REJECT, "model_context" },
    { "maximum context length", ERR_REJECT, "model_context" },
    { "maximum prompt length", ERR_REJECT, "model_context" },
    { "model's context length", ERR_REJECT, "model_context" },
    { "maximum allowed length", ERR_REJECT, "model_context" },
    { "maximum model length", ERR_REJECT, "model_context" },
    { "exceeded model token limit", ERR_REJECT, "model_context" },
    { "prompt token count", ERR_REJECT, "model_context" },
    { "`inputs` tokens", ERR_REJECT, "model_context" },
    { "prompt is too long", ERR_REJECT, "model_context" },
    { "exceed context limit", ERR_REJECT, "model_context" },
    { "exceed_context_size", ERR_REJECT, "model_context" },
    { "available context size", ERR_REJECT, "model_context" },
    { "maximum allowed input length", ERR_REJECT, "model_context" },
    { "input token count", ERR_REJECT, "model_context" },
    { "reduce the length of", ERR_REJECT, "model_context" },
    { "token limit reached", ERR_REJECT, "model_context" },
    { "request_too_large", ERR_REJECT, "model_context" },
};

static const struct rule *find_rule(const struct reply_error *error)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (says(error, rules[i].words))
            return &rules[i];
    return NULL;
}

/* An error inside an answer of 200 has no status of its own; some endpoints put
 * one into its code. */
static unsigned status_of(const struct reply_error *error, unsigned status)
{
    unsigned long inner = strtoul(error->code, NULL, 10);

    return status == 200 && inner >= 400 && inner < 600 ? (unsigned)inner
                                                        : status;
}

/* Whether an error inside an answer would come again. */
static bool is_final(const struct reply_error *error)
{
    static const char *const words[] = { "invalid_", "authentication_error",
                                         "permission_error", "not_found" };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (says(error, words[i]))
            return true;
    return false;
}

static bool is_transient(const struct reply_error *error, unsigned status)
{
    if (status == 200)
        return !is_final(error);
    return status == 408 || status == 409 || status == 425 || status == 429 ||
           status >= 500;
}

bool reply_error_judge(const struct reply_error *error, unsigned status,
                       int should_retry, struct err *err)
{
    const struct rule *rule = find_rule(error);
    const char *message = *error->message ? error->message : "no reason given";
    bool again;

    status = status_of(error, status);
    if (rule)
        return err_set(err, rule->kind, rule->code, "%s", message);
    again = should_retry ? should_retry > 0 : is_transient(error, status);
    return err_set(err, again ? ERR_RETRY : ERR_REJECT,
                   again ? "model_unavailable" : "model_rejected", "%s",
                   message);
}

struct reply_size reply_error_size(const struct reply_error *error)
{
    const struct rule *rule = find_rule(error);
    struct reply_size said = reply_size_read(error->message);

    /* request_too_large is about bytes, not tokens. */
    if (!rule || strcmp(rule->code, "model_context") != 0 ||
        says(error, "request_too_large"))
        return (struct reply_size){ 0 };
    if (error->size.request > 0)
        said.request = error->size.request;
    if (error->size.window > 0)
        said.window = error->size.window;
    return said;
}

/* ----------------------------------------- what the endpoint does not take */

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Whether the name is there as a word: "stream" is not in "stream_options". */
static bool mentions(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += len)
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return true;
    return false;
}

/* Whether the refusal names the parameter and says that it is not known. A
 * value out of bounds is another matter: without it the job would silently get
 * another one. */
static bool is_unknown(const struct reply_error *error, const char *name)
{
    static const char *const words[] = {
        "unsupported",   "not support", "unknown",     "unrecognized",
        "not permitted", "unexpected",  "not allowed", "only allowed",
    };

    if (strcmp(error->param, name) != 0 && !mentions(error->message, name))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(error->message, words[i]) ||
            strcasestr(error->code, words[i]))
            return true;
    return false;
}

static unsigned quirk_of(const struct dialect *dialect,
                         const struct reply_error *error)
{
    for (const struct dialect_lesson *lesson = dialect->lessons;
         lesson->parameter; lesson++)
        if (is_unknown(error, lesson->parameter))
            return lesson->quirk;
    if (strstr(error->message, "invalid message content type"))
        return QUIRK_NO_NULL_CONTENT;
    if (strstr(error->message, "must be non-empty"))
        return QUIRK_NO_EMPTY_CONTENT;
    return 0;
}

bool reply_error_learn(const struct reply_error *error,
                       struct model_endpoint *endpoint)
{
    unsigned quirk = quirk_of(endpoint->dialect, error);
    bool news = quirk && !endpoint_has(endpoint, quirk);

    endpoint->quirks |= quirk;
    return news;
}

static bool reply_error_has_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(text, *words))
            return true;
    return false;
}

/* Whether the status is about the request. Others are about the caller, the
 * rate ("images per minute") or the endpoint's own trouble. llama.cpp is an
 * exception: it says with 500 that it was started without the file for images
 * (mmproj). */
static bool is_of_request(const struct reply_error *error, unsigned status)
{
    switch (status) {
    case 401:
    case 403:
    case 408:
    case 425:
    case 429:
        return false;
    default:
        return status < 500 || strcasestr(error->message, "mmproj");
    }
}

/* Whether any picture would be refused. Whole phrases: a mistake would keep all
 * pictures from this endpoint. */
static bool speaks_of_all(const struct reply_error *error)
{
    static const char *const words[] = {
        "only supported by certain models",
        "endpoints found that support image",
        "not support image input",
        "not support images",
        "not support image content",
        "not support vision",
        "not support multi",
        "model does not support it",
        "not accept image",
        "not allow image",
        "image input is not supported",
        "image inputs are not supported",
        "images are not supported",
        "vision is not supported",
        "not a multimodal model",
        "at most 0 image",
        "expected `text`",
        "supported values are: 'text'",
        "valid string",
        "mmproj",
        NULL,
    };

    return reply_error_has_word(error->message, words);
}

/* Whether only this picture is refused, for its size, its format or damage. */
static bool speaks_of_one(const struct reply_error *error)
{
    static const char *const words[] = {
        "too large",
        "larger",
        "exceed",
        "too many",
        "dimension",
        "corrupt",
        "decode",
        "process",
        "unsupported image",
        "format",
        "mime",
        "media type",
        "valid image",
        "make sure your image",
        NULL,
    };

    return reply_error_has_word(error->message, words);
}

bool reply_error_learn_blind(const struct reply_error *error, unsigned status,
                             struct model_endpoint *endpoint)
{
    static const char *const pictures[] = { "image", "vision", "multimodal",
                                            "multi-modal", NULL };

    if (!is_of_request(error, status) ||
        !reply_error_has_word(error->message, pictures))
        return false;
    if (speaks_of_all(error) && !speaks_of_one(error))
        endpoint->quirks |= QUIRK_BLIND;
    return true;
}
