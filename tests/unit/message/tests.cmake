foreach(module buf check cron err event field fold frame glyph id internet
    machine text view)
  unit_test(message/${module} schemas_message)
endforeach()
# Messages are written as JSON in these.
foreach(module job table)
  unit_test(message/${module} schemas_json)
endforeach()

# Schedules, for test_cron_peer.py.
add_executable(cron_try unit/message/cron_try.c)
target_link_libraries(cron_try PRIVATE
  schemas_message quern_flags quern_sanitize)
scenario_test(unit/message/cron_peer unit)
