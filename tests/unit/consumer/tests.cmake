foreach(module arguments blob catalog conversation fold known observation output request
    result settings text told)
  unit_test(consumer/${module} consumer_core)
endforeach()
