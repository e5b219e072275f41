unit_test(gateway/multipart producer_http)
unit_test(gateway/openapi producer_gateway)

# A small server on the gateway's HTTP, which pytest drives over raw sockets.
add_executable(echo_server unit/gateway/echo_server.c)
target_link_libraries(echo_server PRIVATE
  producer_http quern_flags quern_sanitize)
foreach(module smuggling http http_streams)
  scenario_test(unit/gateway/${module} unit)
endforeach()
