foreach(module arguments blob brake catalog codeact conversation ends fold known
    observation output python request result settings text told window)
  unit_test(consumer/${module} consumer_core)
endforeach()
