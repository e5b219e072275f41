add_library(practice_model STATIC unit/model/practice.c)
target_link_libraries(practice_model PRIVATE quern_flags quern_sanitize)
add_dependencies(practice_model quern-practice-model)

unit_test(model/sse consumer_model)
unit_test(model/reply consumer_model)
unit_test(model/reply_bounds consumer_model)
unit_test(model/reply_error consumer_model)
unit_test(model/breaker consumer_model)
unit_test(model/endpoint consumer_model)
unit_test(model/body consumer_model)
unit_test(model/model consumer_model practice_model)

fuzz_target(sse consumer_model)
fuzz_target(reply consumer_model)

add_executable(http_try unit/model/http_try.c)
target_link_libraries(http_try PRIVATE consumer_model quern_flags quern_sanitize)
scenario_test(unit/model/http unit)
