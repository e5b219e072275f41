foreach(module active arguments blob brake budget cache catalog codeact conversation
    decide ends fetch_policy fleet_endpoints fold links log mcp memory notice observation output
    python reader replies request result schema settings spending text window)
  unit_test(consumer/${module} consumer_core)
endforeach()
unit_test(consumer/show consumer_replay)
