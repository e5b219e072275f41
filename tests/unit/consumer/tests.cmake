foreach(module arguments blob brake cache catalog codeact conversation decide
    ends fetch_policy fold known mcp observation output python request result
    schema settings text told window)
  unit_test(consumer/${module} consumer_core)
endforeach()
unit_test(consumer/show consumer_replay)
