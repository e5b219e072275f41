# Every test_*.py here is a scenario of its own.
file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
foreach(scenario ${scenarios})
  get_filename_component(module ${scenario} NAME_WE)
  string(REGEX REPLACE "^test_" "" module ${module})
  scenario_test(scenario/${module} scenario)
endforeach()

# Bytes to JSON and back, for test_vectors.py.
add_executable(translate scenario/translate.c)
target_link_libraries(translate PRIVATE schemas_json quern_flags quern_sanitize)

# Follows any number of jobs, for watcher.py.
add_executable(watcher scenario/watcher.c)
target_link_libraries(watcher PRIVATE producer_client quern_flags
  quern_sanitize)

# What messages of models in CodeAct mode say, for transcripts.py.
add_executable(messages scenario/messages.c)
target_link_libraries(messages PRIVATE consumer_core quern_flags
  quern_sanitize)
