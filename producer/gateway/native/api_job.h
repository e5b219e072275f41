/* api_job.h - the job that a path names: its facts, if the caller may see it.
 *
 * A job of another tenant is answered as one that does not exist. */
#ifndef PRODUCER_GATEWAY_API_JOB_H
#define PRODUCER_GATEWAY_API_JOB_H

#include "producer/gateway/api_request.h"

/* What is read of a job's hash ("Facts of a job" in schemas/KEYS.md), in the
 * order of the reply. */
enum job_fact {
    FACT_STATE,
    FACT_QUEUE,
    FACT_PRIORITY,
    FACT_TENANT,
    FACT_SESSION,
    FACT_REASON,
    FACT_ERROR_CODE,
    FACT_APPROVAL_CALL,
    FACT_SEQ,
    FACT_ATTEMPTS,
    FACT_SUBMITTED_AT,
    FACT_STARTED_AT,
    FACT_FINISHED_AT,
    FACT_NOT_BEFORE,
    FACT_DEADLINE_AT,
    FACT_APPROVAL_UNTIL,
    FACTS
};

/* Reads the facts of the job whose id is the first parameter of the path, and
 * calls found with the reply; else the request is answered. */
void api_job_load(struct api_request *request, api_request_reply *found);

uint64_t api_job_number(const redisReply *facts, enum job_fact fact);
/* enum job_state; -1: one that this build does not know. */
int api_job_state(const redisReply *facts);

/* {"id": ..., "state": ..., ...}: facts that are not empty. A new reference. */
json_t *api_job_json(struct view id, const redisReply *facts);

/* The partition that the id of the path names. */
unsigned int api_job_partition(const struct api_request *request);

#endif
