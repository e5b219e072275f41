foreach(module amount load document reload spell)
  unit_test(settings/${module} schemas_settings)
endforeach()

# A table for tests, and for the fuzzer.
add_library(example_settings STATIC unit/settings/example.c)
target_link_libraries(example_settings
  PUBLIC schemas_settings PRIVATE quern_flags quern_sanitize)
foreach(module load document)
  target_link_libraries(test_settings_${module} PRIVATE example_settings)
endforeach()
fuzz_target(settings example_settings)
