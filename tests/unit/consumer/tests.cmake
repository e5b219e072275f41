foreach(module active arguments blob brake budget cache catalog codeact conversation
    decide ends fetch_policy fleet_endpoints fold known links log mcp memory observation output python
    replies
    request result schema settings spending text told window)
  unit_test(consumer/${module} consumer_core)
endforeach()
unit_test(consumer/show consumer_replay)
