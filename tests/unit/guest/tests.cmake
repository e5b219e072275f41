unit_test(guest/channel executor_wire schemas_message)
target_sources(test_guest_channel PRIVATE
  ${CMAKE_SOURCE_DIR}/executor/guest/channel.c)
unit_test(guest/inbox executor_wire schemas_message)
target_sources(test_guest_inbox PRIVATE
  ${CMAKE_SOURCE_DIR}/executor/guest/channel.c
  ${CMAKE_SOURCE_DIR}/executor/guest/inbox.c)

# The Python files on their own, then the real program with a test as warden.
foreach(module cell charts display doctests endings figures notebook session)
  scenario_test(unit/guest/${module} unit)
endforeach()
