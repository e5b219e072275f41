foreach(module arguments blob catalog conversation fold known observation request
    result settings text told)
  unit_test(consumer/${module} consumer_core)
endforeach()
