/* request_reader.h - what the files that read a request share. Inside
 * producer/gateway/responses only.
 *
 *   response_request ──▶ request_tools ──▶ request_input ──▶ request_part */
#ifndef PRODUCER_GATEWAY_REQUEST_READER_H
#define PRODUCER_GATEWAY_REQUEST_READER_H

#include "producer/gateway/responses/response_request.h"

/* Tools of quern, by the names that jobs have for them. */
#define REQUEST_PYTHON "execute_python_code"
#define REQUEST_SEARCH "search_web"

struct request_reader {
    struct response_request *request;
    const struct response_request_options *options;
    json_t *messages;  /* of the job */
    json_t *functions; /* of the job */
    bool python, search;
};

/* Notes once what is left out. */
void request_tools_leave_out(struct request_reader *reader, const char *type);
/* A function's name: 1 to 64 of A-Z a-z 0-9 _ -. */
bool request_tools_check_name(const struct body_value *object, const char *name,
                              struct view *text);

/* request_tools.c: tools, tool_choice. */
bool request_tools_read(struct request_reader *reader,
                        const struct body_value *body);

/* request_input.c: input. */
bool request_input_read(struct request_reader *reader,
                        const struct body_value *body);
/* Whether each call in the messages is answered right behind it; the fault is
 * the input's. */
bool request_input_check(const json_t *messages,
                         const struct body_value *input);

/* request_part.c: the content of a message, a string or parts. */
/* *content: a new reference: a string, or a list of parts as jobs have them. */
bool request_part_read_content(struct request_reader *reader,
                               const struct body_value *message,
                               const char *name, json_t **content);
/* Of an assistant's message or a function's output: its parts are text, joined
 * by between; when there are files among them, a list of parts of text. */
bool request_part_read_text(struct request_reader *reader,
                            const struct body_value *message, const char *name,
                            const char *between, json_t **text);
/* A file of the container. */
void request_part_add_file(struct request_reader *reader,
                           const struct body_value *id);

#endif
