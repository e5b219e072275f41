/* sampling.h - what a job may say of how its model writes, at an endpoint.
 *
 * An entry's "job_parameters" says what the operator allows; what it does not
 * name is allowed, unless it says "*": false.
 *
 *   "job_parameters": {"temperature": [0, 1], "reasoning_effort": ["low"],
 *                      "seed": "drop", "*": false}
 *
 *   true          allowed            [least, most]  a number, kept within
 *   false         the job is refused [word, ...]    one of these, else refused
 *   "drop"        left out
 *
 * A job's parameters stand before those of the entry's "parameters". */
#ifndef CONSUMER_SAMPLING_H
#define CONSUMER_SAMPLING_H

#include "consumer/model/endpoint.h"

/* An entry's "job_parameters". Error: bad_setting. */
bool sampling_check_rules(const json_t *allow, struct err *err);

/* wishes: the job's parameters; NULL: none. Error: bad_field, which of them the
 * operator does not allow. */
bool sampling_is_allowed(const struct model_endpoint *endpoint, json_t *wishes,
                         struct err *err);

/* The members of a request, in the endpoint's dialect: its own parameters, and
 * what is left of the job's. A new reference; NULL: there are none. */
json_t *sampling_of(const struct model_endpoint *endpoint, json_t *wishes);

#endif
