/* sampling.h - the parameters with which a job's model writes (temperature and
 * so on), as far as the endpoint's operator allows them.
 *
 * "job_parameters" of an endpoint's entry has a rule for each parameter, and
 * "*" one for all others. Without a rule a parameter is allowed.
 *
 *   "job_parameters": {"temperature": [0, 1], "reasoning_effort": ["low"],
 *                      "seed": "drop", "*": false}
 *
 *   true          allowed            [least, most]  moved into these bounds
 *   false         the job is refused [word, ...]    one of these, else refused
 *   "drop"        left out
 *
 * A job's parameters replace those of the entry's "parameters". */
#ifndef CONSUMER_SAMPLING_H
#define CONSUMER_SAMPLING_H

#include "consumer/model/endpoint.h"

/* Checks an entry's "job_parameters". Error: bad_setting. */
bool sampling_check_rules(const json_t *allow, struct err *err);

/* Whether the operator allows the job's parameters, wishes (NULL: none). Error:
 * bad_field, the first one that is not allowed. */
bool sampling_is_allowed(const struct model_endpoint *endpoint, json_t *wishes,
                         struct err *err);

/* The parameters of a request in the endpoint's dialect: the operator's, and
 * those of the job that are allowed and that the endpoint has not refused. A
 * new reference, not to be changed; NULL: there are none. */
json_t *sampling_of(const struct model_endpoint *endpoint, json_t *wishes);

#endif
