foreach(module arguments blob brake budget cache catalog codeact conversation
    decide ends fetch_policy fold known links mcp memory observation output python
    request result schema settings spending text told window)
  unit_test(consumer/${module} consumer_core)
endforeach()
unit_test(consumer/show consumer_replay)
