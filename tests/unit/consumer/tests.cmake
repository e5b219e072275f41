foreach(module arguments conversation observation result settings text)
  unit_test(consumer/${module} consumer_core)
endforeach()
