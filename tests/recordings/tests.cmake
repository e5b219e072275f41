# What the reply reader makes of recorded bytes, and the bodies of requests;
# tests/replay asks them.
add_executable(reply_replay recordings/replay.c)
target_link_libraries(reply_replay PRIVATE
  consumer_model quern_flags quern_sanitize)
add_executable(dialect_body recordings/body.c)
target_link_libraries(dialect_body PRIVATE
  consumer_model quern_flags quern_sanitize)
scenario_test(recordings/replay unit)
scenario_test(recordings/jobs unit)
scenario_test(recordings/make scenario)
scenario_test(recordings/dialects unit)
scenario_test(recordings/requests unit)
