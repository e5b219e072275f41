/* ask.c - the messages of a request: what the model is told, and as much of the
 * conversation as the window holds. */
#include "consumer/conversation/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/answer.h"
#include "consumer/conversation/tools.h"
#include "consumer/conversation/window.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/limits.h"
#include "schemas/message/text.h"

const char prompt_cut[] =
    "[Your last reply reached its maximum length inside a tool call. The call "
    "was not run. Write a shorter one: split the work over several calls.]";

const char prompt_unclosed[] =
    "[Your last reply ended inside its block of code. The code was not run. "
    "Write it again, shorter, and close the block with ```.]";

const char prompt_idle[] =
    "[Your last reply held neither code nor an answer. To act write one block "
    "```python ... ```; to end write FINAL ANSWER: and the answer.]";

const char prompt_empty[] =
    "[Your last reply was empty. Call a tool, or answer the user.]";

const char prompt_pause[] =
    "[Go on exactly where your last reply stopped; do not repeat it.]";

const char prompt_circles[] =
    "\n[You have done this before, and the same came of it. Do not repeat it: "
    "look for the cause, or take another way.]";

const char prompt_forbidden[] =
    "Error: not run. The same was done several times, and the same came of it "
    "each time. Take another way, or answer with what you know.";

const char prompt_regenerate[] =
    "[The user has thrown your last reply away. None of it was run. Write "
    "another one, done otherwise.]";

const char prompt_last[] =
    "[No more tools or code can be run for this task. Answer the user now with "
    "what you have found out; say what is missing.]";

/* ------------------------------------------------------------- instructions */

static const struct {
    const char *file;
    const char *text;
} built_in[PROMPTS][LANGUAGES] = {
    [PROMPT_TOOLS] = { { "tools.en.md", prompt_tools_en },
                       { "tools.zh.md", prompt_tools_zh } },
    [PROMPT_CODEACT] = { { "codeact.en.md", prompt_codeact_en },
                         { "codeact.zh.md", prompt_codeact_zh } },
    [PROMPT_FILES] = { { "files.en.md", prompt_files_en },
                       { "files.zh.md", prompt_files_zh } },
    [PROMPT_UPLOAD] = { { "upload.en.md", prompt_upload_en },
                        { "upload.zh.md", prompt_upload_zh } },
    [PROMPT_PLAIN] = { { "plain.en.md", prompt_plain_en },
                       { "plain.zh.md", prompt_plain_zh } },
    [PROMPT_SUMMARY] = { { "summary.en.md", prompt_summary_en },
                         { "summary.zh.md", prompt_summary_zh } },
};

static bool prompt_read_file(const char *path, char **text, struct err *err)
{
    FILE *file = fopen(path, "rbe");
    if (!file && errno == ENOENT)
        return true;
    if (!file)
        return err_set(err, ERR_REJECT, "bad_setting", "%s: %s", path,
                       strerror(errno));
    char *bytes = calloc(1, MAX_PROMPT_BYTES + 2);
    if (!bytes)
        abort();
    size_t len = fread(bytes, 1, MAX_PROMPT_BYTES + 1, file);
    bool read = !ferror(file);
    fclose(file);
    *text = bytes;
    if (!read)
        return err_set(err, ERR_REJECT, "bad_setting", "%s cannot be read",
                       path);
    if (len > MAX_PROMPT_BYTES)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s is longer than %d bytes", path, MAX_PROMPT_BYTES);
    struct view all = { bytes, len };
    return (view_is_utf8(all) && !memchr(bytes, '\0', len)) ||
           err_set(err, ERR_REJECT, "bad_setting", "%s is not UTF-8 text",
                   path);
}

bool prompts_load(struct prompts *prompts, const char *folder, struct err *err)
{
    char path[4096];
    bool good = true;
    *prompts = (struct prompts){ 0 };
    for (int prompt = 0; prompt < PROMPTS && *folder != '\0'; prompt++)
        for (int language = 0; language < LANGUAGES && good; language++) {
            snprintf(path, sizeof(path), "%s/%s", folder,
                     built_in[prompt][language].file);
            good =
                prompt_read_file(path, &prompts->texts[prompt][language], err);
        }
    return good;
}

void prompts_finish(struct prompts *prompts)
{
    for (int prompt = 0; prompt < PROMPTS; prompt++)
        for (int language = 0; language < LANGUAGES; language++)
            free(prompts->texts[prompt][language]);
    *prompts = (struct prompts){ 0 };
}

/* ----------------------------------------------------------------- language */

/* The language of a text that a user wrote: Chinese if most of its letters are
 * Han, and none are kana. Two bytes tell enough: E3 81..83 begin kana; E3 90 to
 * E9 begin Han. */
static enum language language_of(struct view text)
{
    size_t han = 0, kana = 0, letters = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        unsigned char next =
            i + 1 < text.len ? (unsigned char)text.data[i + 1] : 0;
        if (byte == 0xe3 && next >= 0x81 && next <= 0x83)
            kana++;
        else if ((byte == 0xe3 && next >= 0x90) ||
                 (byte >= 0xe4 && byte <= 0xe9))
            han++;
        else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z')
            letters++;
    }
    /* A Han character is about as much as a word of letters. */
    return kana == 0 && han * 4 > letters ? LANGUAGE_ZH : LANGUAGE_EN;
}

enum language ask_language(const struct conversation *conversation)
{
    size_t i;
    json_t *message;
    json_t *first = json_array_get(conversation->said, 0);
    if (first)
        return language_of(reply_json_text(first, "content"));
    json_array_foreach(conversation->messages, i, message)
        if (view_is(reply_json_text(message, "role"), "user"))
            return language_of(reply_json_text(message, "content"));
    return LANGUAGE_EN;
}

enum language prompt_upload_language(const struct job *job)
{
    const struct file_ref *files = job->files.items;
    CLEANUP(buf_finish) struct buf words;
    buf_init(&words, MAX_JOB_BYTES);
    buf_add(&words, job->system);
    for (size_t i = 0; i < job->files.count && job->system.len == 0; i++)
        buf_add(&words, files[i].name);
    return language_of(buf_view(&words));
}

/* ------------------------------------------------------- the system message */

enum prompt prompt_of(const struct job *job, const json_t *tools)
{
    bool python =
        tools_have_python(tools) && !view_is(job->tool_choice, "none");
    return job->mode == MODE_TOOLS && !python ? PROMPT_PLAIN
                                              : (enum prompt)job->mode;
}

struct view prompt_text(const struct prompts *prompts, enum prompt prompt,
                        enum language language, bool *own)
{
    const char *text = prompts->texts[prompt][language];
    if (!text && prompt == PROMPT_PLAIN)
        text = prompts->texts[PROMPT_TOOLS][language];
    struct view chosen = view_of(text ? text : built_in[prompt][language].text);
    *own = text != NULL;
    while (chosen.len > 0 && chosen.data[chosen.len - 1] == '\n')
        chosen.len--;
    return chosen;
}

static void add_files(struct buf *out, const struct job *job, struct view head)
{
    const struct file_ref *files = job->files.items;
    if (job->files.count > 0) {
        buf_add(out, VIEW("\n"));
        buf_add(out, head);
    }
    for (size_t i = 0; i < job->files.count; i++)
        buf_printf(out, "\n- %.*s (%llu bytes%s%.*s)", VIEW_ARG(files[i].name),
                   (unsigned long long)files[i].bytes,
                   files[i].mime.len > 0 ? ", " : "", VIEW_ARG(files[i].mime));
}

/* Only the libraries that the executor has found: a model that hopes for others
 * writes code that fails. */
static void add_libraries(struct buf *out, enum language language,
                          struct view libraries)
{
    bool zh = language == LANGUAGE_ZH;
    if (libraries.len == 0)
        return;
    buf_add(out, zh ? VIEW("\n已安装的库（不止这些）：")
                    : VIEW("\nLibraries that are installed, beside others: "));
    buf_add(out, libraries);
    buf_add(out, zh ? VIEW("。") : VIEW("."));
}

/* The system message of a request. The job's own becomes part of it: many
 * endpoints take only one. Initializes out. */
static void prompt_write(struct buf *out,
                         const struct conversation *conversation,
                         const struct ask *ask, struct view own)
{
    const struct job *job = conversation->job;
    enum prompt prompt = prompt_of(job, ask->tools);
    enum language language = ask_language(conversation);
    bool theirs;
    buf_init(out, (size_t)MAX_JOB_BYTES * 2);
    buf_add(out, prompt_text(ask->prompts, prompt, language, &theirs));
    if (prompt != PROMPT_PLAIN)
        add_libraries(out, language, ask->libraries);
    if (ask->functions.len > 0) {
        buf_add(out, VIEW("\nThese functions are defined already; code may "
                          "call them like any other, in loops and threads, and "
                          "they raise ToolError:"));
        buf_add(out, ask->functions);
    }
    add_files(out, job,
              prompt_text(ask->prompts, PROMPT_FILES, language, &theirs));
    if (own.len > 0) {
        buf_add(out, VIEW("\n\n"));
        buf_add(out, own);
    }
    if (conversation->schema)
        answer_rule(conversation->schema, job->mode == MODE_CODEACT, out);
}

/* ----------------------------------------------------------- the messages */

static void ask_add_message(json_t *messages, const char *role,
                            struct view text)
{
    json_array_append_new(messages,
                          json_pack("{s:s, s:o}", "role", role, "content",
                                    json_stringn(text.data, text.len)));
}

/* All messages, nothing left out. */
static json_t *ask_whole(const struct conversation *conversation,
                         const struct ask *ask)
{
    json_t *all = json_array();
    json_t *first = json_array_get(conversation->messages, 0);
    bool own = view_is(reply_json_text(first, "role"), "system") &&
               json_is_string(json_object_get(first, "content"));
    CLEANUP(buf_finish) struct buf system;
    prompt_write(&system, conversation, ask,
                 own ? reply_json_text(first, "content") : VIEW(""));
    ask_add_message(all, "system", buf_view(&system));
    if (conversation->said)
        json_array_extend(all, conversation->said);
    for (size_t i = own; i < json_array_size(conversation->messages); i++)
        json_array_append(all, json_array_get(conversation->messages, i));
    return all;
}

/* Tokens of what is sent however much is left out. */
static uint64_t fixed_tokens(const struct window *all, const struct ask *ask)
{
    return (!ask->tools ? 0 : window_tokens(ask->tools)) +
           ask->pictures * IMAGE_TOKENS + window_fixed(all);
}

/* Converts tokens as the endpoint counts them into our estimate, by the last
 * request that it has counted. The ratio is kept within 1/4 and 2, so that one
 * odd count does little harm. */
static uint64_t in_our_tokens(const struct conversation *conversation,
                              uint64_t tokens)
{
    uint64_t counted = conversation->counted, ours = conversation->estimated;
    if (counted == 0 || ours == 0)
        return tokens;
    if (counted > 4 * ours)
        return tokens / 4;
    return counted * 2 < ours ? tokens * 2 : tokens * ours / counted;
}

/* The other way round: what the endpoint has counted once stays, and what has
 * come since is converted. */
static uint64_t in_their_tokens(const struct conversation *conversation,
                                uint64_t tokens)
{
    uint64_t counted = conversation->counted, ours = conversation->estimated;
    if (counted == 0 || ours == 0)
        return tokens;
    uint64_t known = tokens > ours ? ours : tokens;
    uint64_t added = tokens - known;
    uint64_t grown = counted > 4 * ours ? 4 * added : added * counted / ours;
    return known * counted / ours + grown;
}

static void ask_for_answer(struct request_messages *out)
{
    json_t *message =
        json_pack("{s:s, s:s}", "role", "user", "content", prompt_last);
    out->tokens += window_tokens(message);
    json_array_append_new(out->messages, message);
}

/* The history before the conversation may be gone or another one when a later
 * attempt asks: then the place of the last request means nothing. */
static size_t kept_before(const struct conversation *conversation)
{
    return view_equal(conversation->kept_of, conversation->said_of)
               ? conversation->kept
               : 0;
}

/* All messages, and which of them are left out. */
struct request_cut {
    json_t *messages;
    struct window all;
    struct buf text; /* of the summary, as it is shown */
    struct window_summary summary;
    size_t before, kept; /* where what is sent began, and begins now */
    /* Tokens, by our estimate: */
    uint64_t fixed;  /* of what is sent however much is left out */
    uint64_t sent;   /* if it begins where the last request began */
    uint64_t window; /* that there is room for; 0: nobody knows */
};

/* Bytes of a summary: a small window must have room for messages as well. */
static size_t most_of_summary(const struct ask *ask)
{
    return ask->window > 0 && ask->window / 2 < MAX_SUMMARY_BYTES
               ? (size_t)ask->window / 2
               : MAX_SUMMARY_BYTES;
}

static void show_summary(struct request_cut *cut,
                         const struct conversation *conversation,
                         const struct ask *ask)
{
    cut->summary = summary_of(conversation);
    buf_init(&cut->text, 2 * (size_t)MAX_SUMMARY_BYTES);
    text_add_clipped(&cut->text, cut->summary.text, most_of_summary(ask));
    cut->summary.text = buf_view(&cut->text);
    if (cut->summary.text.len > 0)
        cut->fixed += window_text_tokens(cut->summary.text);
}

/* Where what is sent begins now. It leaves out much, but seldom: when the
 * window is three quarters full, down to the half. Between these cuts each
 * request begins like the one before, which endpoints have cached. */
static size_t place_of(const struct request_cut *cut,
                       const struct conversation *conversation,
                       const struct ask *ask)
{
    size_t kept = cut->before, wanted;
    bool full = cut->window > 0 && cut->sent > cut->window / 4 * 3;
    uint64_t aim = cut->window > 0 ? cut->window / 2 : cut->sent;
    if (ask->squeeze && aim > cut->sent / 2)
        aim = cut->sent / 2;
    if (full || ask->squeeze)
        kept = window_cut(&cut->all, kept,
                          aim > cut->fixed ? aim - cut->fixed : 0);
    if (summary_is_due(conversation, &wanted) && kept < wanted)
        kept = window_cut(&cut->all, wanted, UINT64_MAX);
    return kept;
}

static void make_cut(struct request_cut *cut,
                     const struct conversation *conversation,
                     const struct ask *ask)
{
    *cut = (struct request_cut){ .messages = ask_whole(conversation, ask) };
    cut->all = window_of(cut->messages, json_array_size(conversation->said));
    cut->before = window_cut(&cut->all, kept_before(conversation), UINT64_MAX);
    cut->fixed = fixed_tokens(&cut->all, ask);
    show_summary(cut, conversation, ask);
    cut->sent = cut->fixed + window_behind(&cut->all, cut->before);
    cut->window = in_our_tokens(conversation, ask->window);
    cut->kept = place_of(cut, conversation, ask);
}

static void cut_finish(struct request_cut *cut)
{
    json_decref(cut->messages);
    buf_finish(&cut->text);
}

bool ask_write(const struct conversation *conversation, const struct ask *ask,
               struct request_messages *out, struct err *err)
{
    CLEANUP(cut_finish) struct request_cut cut;
    make_cut(&cut, conversation, ask);
    if (ask->squeeze && cut.kept == cut.before)
        return err_set(err, ERR_REJECT, "model_context",
                       "the conversation does not fit into the model's "
                       "window, and nothing more of it can be left out");
    *out = (struct request_messages){
        .messages = window_apply(&cut.all, cut.kept, &cut.summary),
        .kept = cut.kept,
        .tokens = cut.fixed + window_behind(&cut.all, cut.kept),
    };
    if (ask->last)
        ask_for_answer(out);
    out->expected = in_their_tokens(conversation, out->tokens);
    return true;
}

/* Also with the longest summary, in any script, the next request stays below
 * three quarters of the window, so that it is not cut again at once. */
static bool cut_has_room(const struct request_cut *cut, const struct ask *ask)
{
    uint64_t others = cut->fixed + window_behind(&cut->all, cut->kept);
    if (cut->summary.text.len > 0)
        others -= window_text_tokens(cut->summary.text);
    return cut->window == 0 ||
           others + most_of_summary(ask) / 2 <= cut->window / 4 * 3;
}

static void write_summary(const struct request_cut *cut,
                          struct view instructions,
                          struct request_messages *out)
{
    CLEANUP(buf_finish) struct buf text;
    uint64_t most = (cut->window > 0 ? cut->window : cut->sent) / 2;
    uint64_t own = window_text_tokens(instructions);
    const struct summary_source source = {
        .window = &cut->all,
        .from = cut->before,
        .to = cut->kept,
        .earlier = cut->summary.text,
        .tokens = most > own ? most - own : 0,
    };
    summary_write(&text, &source);
    *out = (struct request_messages){ .messages = json_array(),
                                      .kept = cut->kept };
    ask_add_message(out->messages, "system", instructions);
    ask_add_message(out->messages, "user", buf_view(&text));
    out->tokens = own + window_text_tokens(buf_view(&text));
}

bool ask_summary(const struct conversation *conversation, const struct ask *ask,
                 struct request_messages *out)
{
    CLEANUP(cut_finish) struct request_cut cut;
    bool own;
    make_cut(&cut, conversation, ask);
    if (cut.kept <= cut.before || !cut_has_room(&cut, ask))
        return false;
    write_summary(&cut,
                  prompt_text(ask->prompts, PROMPT_SUMMARY,
                              ask_language(conversation), &own),
                  out);
    out->expected = in_their_tokens(conversation, out->tokens);
    return true;
}
