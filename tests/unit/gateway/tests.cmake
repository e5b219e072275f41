unit_test(gateway/multipart producer_http)
unit_test(gateway/http_address producer_http)
unit_test(gateway/http_server producer_http)
unit_test(gateway/event_stream producer_http)
unit_test(gateway/openapi producer_gateway)
unit_test(gateway/link_token producer_gateway)
unit_test(gateway/model_list producer_gateway)

# Certificates that a test makes.
add_library(gateway_certificates STATIC unit/gateway/certificates.c)
target_link_libraries(gateway_certificates PRIVATE
  PkgConfig::SSL quern_flags quern_sanitize)
unit_test(gateway/http_tls producer_http gateway_certificates)

# A small server on the gateway's HTTP, which pytest drives over raw sockets.
add_executable(echo_server unit/gateway/echo_server.c)
target_link_libraries(echo_server PRIVATE
  producer_http quern_flags quern_sanitize)
scenario_test(unit/gateway/tls unit)
foreach(module smuggling http http_ends http_streams)
  scenario_test(unit/gateway/${module} unit)
  add_test(NAME unit/gateway/${module}/tls COMMAND /usr/bin/python3 -m pytest
    -q -x -p no:cacheprovider
    ${CMAKE_CURRENT_SOURCE_DIR}/unit/gateway/test_${module}.py)
  get_test_property(unit/gateway/${module} ENVIRONMENT environment)
  set_tests_properties(unit/gateway/${module}/tls PROPERTIES LABELS unit
    TIMEOUT 600 ENVIRONMENT "${environment};QUERN_HTTP_OVER=tls")
endforeach()
