# The official clients need the gateway, and the registries of their packages.
# Off by default: the gateway lacks routes that some scenarios ask for (README).
option(QUERN_CLIENTS "Try quern-gateway with official clients of OpenAI's API" OFF)
if(TARGET quern-gateway AND QUERN_CLIENTS)
  scenario_test(clients/clients clients)
  set_tests_properties(clients/clients PROPERTIES TIMEOUT 1200)
endif()
