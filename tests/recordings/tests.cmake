# What the reply reader makes of recorded bytes; tests/replay asks it.
add_executable(reply_replay recordings/replay.c)
target_link_libraries(reply_replay PRIVATE
  consumer_model quern_flags quern_sanitize)
scenario_test(recordings/replay unit)
scenario_test(recordings/jobs unit)
