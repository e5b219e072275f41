foreach(module arguments blob brake catalog conversation ends fold known observation output
    request result settings text told window)
  unit_test(consumer/${module} consumer_core)
endforeach()
