/* call.h - a request that libquern answers, in a thread.
 *
 *   handler --operate_call()--> run, in a thread --> the answer, on the loop
 *
 * A run sees only its call: copies of what the request says, and the place for
 * its answer. It blocks as long as libquern does. */
#ifndef PRODUCER_GATEWAY_OPERATE_CALL_H
#define PRODUCER_GATEWAY_OPERATE_CALL_H

#include <jansson.h>

#include "producer/client/operate_json.h"
#include "producer/gateway/api_request.h"

struct operate_call {
    /* What the request says. */
    char name[3 * QUERN_NAME];   /* the first parameter of the path; longer
                                    ones are refused as unknown */
    char queue[QUERN_NAME];      /* of the query; "": none */
    char of_tenant[QUERN_NAME];  /* likewise */
    char span[QUERN_NAME];       /* likewise */
    char tenant[QUERN_NAME];     /* the caller's */
    uint64_t since, skip, limit; /* of the query */
    unsigned int scopes;         /* likewise */
    json_t *body;                /* the object of the body; {}: there is none */
    const char *act;             /* NULL, or what the audit line says */

    /* What run leaves. */
    unsigned int status; /* of the answer: 200 */
    json_t *answer;      /* NULL: the error */
    struct quern_error error;
};

/* Returns whether there is an answer; else call->error has the reason. */
typedef bool operate_run(struct operate_call *call, struct quern *quern);

/* Runs it in a thread and answers the request. act: of an operator, for the
 * log ("queue.pause"); NULL: it changes nothing. */
void operate_call(struct api_request *request, operate_run *run,
                  const char *act);

/* An error of a run: returns false. code: a word of schemas/MESSAGES.md. */
bool operate_wrong(struct operate_call *call, const char *code,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what the path names: what: "job". One sentence for what never
 * was, what another tenant has, and what cannot be a name. */
bool operate_unknown(struct operate_call *call, const char *what);
/* Whether an error says so. */
bool operate_is_unknown(const struct operate_call *call, const char *what);

/* A member of the body: text, "" when it is absent. False: it is of another
 * type. Borrowed from the body. */
bool operate_text(struct operate_call *call, const char *name,
                  const char **text);
/* The same; false when it is absent. */
bool operate_switch(struct operate_call *call, const char *name, bool *value);
/* A whole number; 0 when it is absent. False: it is another one. */
bool operate_number(struct operate_call *call, const char *name, uint64_t max,
                    uint64_t *number);
/* False: the body has a member beside these; ends in NULL. */
bool operate_only(struct operate_call *call, const char *const *names);

/* {"<name>": list}; takes the reference. Always true. */
bool operate_answer_list(struct operate_call *call, const char *name,
                         json_t *list);

#endif
