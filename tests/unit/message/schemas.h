/* schemas.h - every schema that there is, for tests that walk them all. */
#ifndef TESTS_UNIT_MESSAGE_SCHEMAS_H
#define TESTS_UNIT_MESSAGE_SCHEMAS_H

#include "schemas/message/conversation.h"
#include "schemas/message/event.h"
#include "schemas/message/frame.h"
#include "schemas/message/history.h"
#include "schemas/message/journal.h"

static const struct schema *const all_schemas[] = {
    &schema_job,          &schema_event,        &schema_result,
    &schema_record,       &schema_frame,        &schema_guest_frame,
    &schema_cell,         &schema_cell_error,   &schema_usage,
    &schema_event_data,   &schema_text,         &schema_file_ref,
    &schema_image_ref,    &schema_result_error, &schema_session_record,
    &schema_session_file, &schema_history,      &schema_conversation,
};

enum { ALL_SCHEMAS = sizeof(all_schemas) / sizeof(all_schemas[0]) };

#endif
