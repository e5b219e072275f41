/* server.h - models and tools, as an HTTP client sees them.
 *
 * ports.c brings a request as struct visit and takes what is said of it;
 * the server decides what becomes of it: all of an answer, a part, a refusal,
 * an answer that comes late, none. Code that it has written says what it does
 * (boxes.c reads it), and each word in a call is there once in the seed. */
#ifndef TESTS_UNIT_ATTEMPT_SERVER_H
#define TESTS_UNIT_ATTEMPT_SERVER_H

#include "schemas/message/buf.h"
#include "tests/unit/attempt/world.h"

enum outcome { OUT_ANSWERED, OUT_NOT_SENT, OUT_BROKEN, OUT_TIMEOUT };

enum { MOST_PIECES = 16 };

struct visit {
    struct visit *next;
    uint64_t serial;
    int host;
    char url[256];
    char body[256]; /* its beginning */
    bool post, is_model, is_fetch;
    bool is_kept;  /* its dialect is that of replies that are kept */
    char hash[65]; /* SHA-256 of the body */
    void *asker;   /* of ports.c; NULL: nobody listens any more */

    struct letter *letter;
    unsigned status;
    char *pieces[MOST_PIECES];
    size_t piece_count, piece_at;
    enum outcome outcome;
    uint64_t retry_after_ms;
};

void server_reset(void);
/* A copy is the server's from here on. */
struct visit *server_ask(const struct visit *request, struct view body);
/* Nobody wants it any more. */
void server_drop(struct visit *visit);
/* Of a host that is gone. */
void server_lose(int host);
size_t server_open(void);

/* A cell's code; serial makes its words its own. */
void server_code(struct buf *out, uint64_t serial);

/* What models answer: for judge.c. */
struct served {
    uint64_t serial;
    size_t intent; /* index of the record that has asked for it */
    bool whole;    /* it was sent to its end */
    bool counted;  /* with what it took */
    bool fetched;  /* all of it, later */
    bool missed;   /* somebody was told that it is not to be had */
    char *kept;    /* as it is fetched, JSON; NULL: it is not kept */
    char text[96];
};
const struct served *server_reply(uint64_t serial);
/* Nobody can have it any more, or was told so. */
bool server_missed(uint64_t serial);
enum { SERVED_TOKENS = 110 };

/* ports.c: what the asker hears. After visit_end() it is gone. */
void visit_say(struct visit *visit, struct view piece);
void visit_end(struct visit *visit);

#endif
