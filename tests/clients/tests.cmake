# The official clients need the gateway, and the registries of their packages.
if(TARGET quern-gateway)
  scenario_test(clients/clients clients)
  set_tests_properties(clients/clients PROPERTIES TIMEOUT 1200)
endif()
