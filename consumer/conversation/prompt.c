/* prompt.c - the instructions that every request begins with. */
#include "consumer/conversation/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

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

/* ------------------------------------------------------------- instructions
 */

static const struct {
    const char *file;
    const char *text;
} ours[PROMPTS][LANGUAGES] = {
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
                     ours[prompt][language].file);
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

/* ----------------------------------------------------------------- language
 */

/* Two bytes tell enough: E3 81..83 begin kana; E3 90 to E9 begin Han. */
enum language language_of(struct view text)
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

/* ------------------------------------------------------------------ writing
 */

enum prompt prompt_of(const struct job *job, const json_t *tools)
{
    return job->mode == MODE_TOOLS && !tools_have_python(tools)
               ? PROMPT_PLAIN
               : (enum prompt)job->mode;
}

struct view prompt_text(const struct prompts *prompts, enum prompt prompt,
                        enum language language, bool *own)
{
    const char *text = prompts->texts[prompt][language];
    if (!text && prompt == PROMPT_PLAIN)
        text = prompts->texts[PROMPT_TOOLS][language];
    struct view chosen = view_of(text ? text : ours[prompt][language].text);
    *own = text != NULL;
    while (chosen.len > 0 && chosen.data[chosen.len - 1] == '\n')
        chosen.len--;
    return chosen;
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

void prompt_write(struct buf *out, const struct instructions *from,
                  const struct job *job)
{
    bool own_text;
    buf_init(out, (size_t)MAX_JOB_BYTES * 2);
    buf_add(out, prompt_text(from->prompts, from->prompt, from->language,
                             &own_text));
    if (from->prompt != PROMPT_PLAIN)
        add_libraries(out, from->language, from->libraries);
    if (from->functions.len > 0) {
        buf_add(out, VIEW("\nThese functions are defined already; code may "
                          "call them like any other, in loops and threads, and "
                          "they raise ToolError:"));
        buf_add(out, from->functions);
    }
    add_files(
        out, job,
        prompt_text(from->prompts, PROMPT_FILES, from->language, &own_text));
    if (from->own.len > 0) {
        buf_add(out, VIEW("\n\n"));
        buf_add(out, from->own);
    }
}
