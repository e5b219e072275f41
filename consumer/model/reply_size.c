/* reply_size.c - how long a request was that was too long, and how long it may
 * be. */
#include "consumer/model/reply_size.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

uint64_t reply_size_of(long long tokens)
{
    bool sound = tokens >= LEAST_WINDOW && tokens <= MOST_WINDOW;

    return sound ? (uint64_t)tokens : 0;
}

/* Words with a number right behind them, or right before; a list of these ends
 * with NULL. The first that are there count. */
typedef uint64_t number_at(const char *sentence, const char *words);

static uint64_t number_behind(const char *sentence, const char *words)
{
    const char *at = strcasestr(sentence, words);

    return at == NULL ? 0 : strtoull(at + strlen(words), NULL, 10);
}

static uint64_t number_before(const char *sentence, const char *words)
{
    const char *at = strcasestr(sentence, words);

    if (at == NULL || at == sentence || !isdigit((unsigned char)at[-1]))
        return 0;
    while (at > sentence && isdigit((unsigned char)at[-1]))
        at--;
    return strtoull(at, NULL, 10);
}

static uint64_t find(const char *sentence, const char *const *words,
                     number_at *number)
{
    uint64_t found = 0;

    for (; *words != NULL && found == 0; words++)
        found = number(sentence, *words);
    return found;
}

static uint64_t number_over(const char *sentence, const char *words)
{
    const char *at = strcasestr(sentence, words);

    return at == NULL ? 0 : number_behind(at, " > ");
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

/* With what is left to the reply. */
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
    uint64_t own = find(sentence, request_is, number_behind);
    uint64_t all = find(sentence, all_is, number_behind);
    uint64_t reply = find(sentence, is_reply, number_before);

    if (own == 0)
        own = find(sentence, is_request, number_before);
    if (own > 0)
        return own;
    return all > reply ? all - reply : 0;
}

static uint64_t read_window(const char *sentence)
{
    uint64_t window = find(sentence, window_is, number_behind);

    return window > 0 ? window : find(sentence, over_is, number_over);
}

static uint64_t bounded(uint64_t tokens)
{
    return tokens > MOST_WINDOW ? 0 : reply_size_of((long long)tokens);
}

struct reply_size reply_size_read(const char *sentence)
{
    return (struct reply_size){
        .request = bounded(read_request(sentence)),
        .window = bounded(read_window(sentence)),
    };
}
