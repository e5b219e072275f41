foreach(module active arguments blob brake budget cache catalog codeact conversation
    decide fetch_policy fleet_endpoints links log mcp memory notice observation output
    python reader record replies request result schema settings spending store window)
  unit_test(consumer/${module} consumer_core)
endforeach()
unit_test(consumer/show consumer_replay)
