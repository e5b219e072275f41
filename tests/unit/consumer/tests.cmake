foreach(module arguments blob catalog codeact conversation ends fold known
    observation output python
    request result settings text told)
  unit_test(consumer/${module} consumer_core)
endforeach()
