unit_test(metrics/metrics schemas_metrics)
unit_test(metrics/relay schemas_metrics)
unit_test(metrics/numbers schemas_metrics schemas_service)
target_sources(test_metrics_numbers PRIVATE
  ${CMAKE_SOURCE_DIR}/consumer/numbers.c
  ${CMAKE_SOURCE_DIR}/executor/warden/numbers.c)
