/* log_row.h - the row of a program's table of settings that says what it logs.
 * `at` is the offset of the member, an enum log_severity; what it means:
 * log_event.h and schemas/settings/setting.h. */
#ifndef SCHEMAS_SERVICE_LOG_ROW_H
#define SCHEMAS_SERVICE_LOG_ROW_H

#include "schemas/service/log_event.h"
#include "schemas/settings/setting.h"

#define LOG_LEVEL_ROW(at)                                                      \
    {                                                                          \
        .name = "log-level", .type = SETTING_CHOICE, .offset = (at),           \
        .choices = log_severity_names, .normal = "info", .is_reloaded = true,  \
        .about = "The least level of the lines that are logged: error "        \
                 "(somebody has to act), warning, info or debug."              \
    }

#endif
