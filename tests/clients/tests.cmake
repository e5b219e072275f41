# The official clients need the gateway, and the registries of their packages.
option(QUERN_CLIENTS "Try quern-gateway with official clients of OpenAI's API" ON)
if(TARGET quern-gateway AND QUERN_CLIENTS)
  scenario_test(clients/clients clients)
  scenario_test(clients/survival clients)
  set_tests_properties(clients/clients PROPERTIES TIMEOUT 1200)
endif()
