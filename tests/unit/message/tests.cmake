foreach(module buf check err event field frame id view)
  unit_test(message/${module} schemas_message)
endforeach()
# Messages are written as JSON in these.
foreach(module job table)
  unit_test(message/${module} schemas_json)
endforeach()
