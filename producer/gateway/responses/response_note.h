/* response_note.h - what a response object repeats of its request, kept in the
 * job.
 *
 *   request --response_note_write()--> client, a member of the job
 *   job     --response_note_read()---> struct wire_job
 *
 * So any gateway can show a response that another one has taken. What the job
 * has anyway (functions, instructions, metadata, schema) is not kept twice. */
#ifndef PRODUCER_GATEWAY_RESPONSE_NOTE_H
#define PRODUCER_GATEWAY_RESPONSE_NOTE_H

#include "producer/gateway/responses/wire_item.h"

struct response_request;

/* Puts the note into request->job, which is whole otherwise. asked: all that
 * the response object repeats. False: the note is too long. */
bool response_note_write(struct response_request *request, const json_t *asked);

/* Fills wire, which borrows from job; wire->asked is a new reference. False:
 * the job did not come by this API. */
bool response_note_read(const struct job *job, struct wire_job *wire);

#endif
