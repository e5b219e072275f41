/* calculate.h - the tool calculate_math_expression. */
#ifndef CONSUMER_CALCULATE_H
#define CONSUMER_CALCULATE_H

#include "consumer/tools/tool.h"

struct tool *calculate_tool_new(void);

#endif
