# The queue's real code in a world of its own: the functions of alarm.c, log.c,
# link.c and executor.c that it calls are those of this folder.
add_library(queue_world OBJECT
  unit/queue/clock.c unit/queue/link.c unit/queue/redis.c unit/queue/test_world.c
  unit/queue/watch.c unit/queue/work.c unit/queue/world.c)
target_link_libraries(queue_world PRIVATE
  consumer_core quern_flags quern_sanitize)
add_executable(test_queue_world $<TARGET_OBJECTS:queue_world>)
target_link_libraries(test_queue_world PRIVATE
  consumer_core quern_flags quern_sanitize)
run_test(unit/queue/world unit 120 "" test_queue_world)

# The same with a bug in one of the product's files: sown.py builds and runs them,
# by hand, since the rarest take minutes to be found.
set(sown ${CMAKE_CURRENT_SOURCE_DIR}/unit/queue/sown.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sown})
execute_process(COMMAND /usr/bin/python3 ${sown} --names
  OUTPUT_VARIABLE sown_names OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" sown_names "${sown_names}")
add_custom_target(queue_sown)
foreach(row ${sown_names})
  string(REGEX MATCH "^(.*):(.*)$" _ ${row})
  set(bug ${CMAKE_MATCH_1})
  set(source ${CMAKE_SOURCE_DIR}/${CMAKE_MATCH_2})
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/sown_${bug}.c)
  add_custom_command(OUTPUT ${copy}
    COMMAND /usr/bin/python3 ${sown} --write ${bug} ${source} ${copy}
    DEPENDS ${sown} ${source})
  add_executable(sown_${bug} EXCLUDE_FROM_ALL
    ${copy} $<TARGET_OBJECTS:queue_world>)
  target_link_libraries(sown_${bug} PRIVATE
    consumer_core quern_flags quern_sanitize)
  set_target_properties(sown_${bug} PROPERTIES COMPILE_WARNING_AS_ERROR OFF)
  add_dependencies(queue_sown sown_${bug})
endforeach()
