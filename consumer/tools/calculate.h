/* calculate.h - the tool calculate_math_expression. The expression is hostile,
 * so quern-reader evaluates it (reader.h), never the consumer itself. */
#ifndef CONSUMER_CALCULATE_H
#define CONSUMER_CALCULATE_H

#include "consumer/tools/tool.h"

struct tool *calculate_tool_new(void);

#endif
