foreach(module arguments blob conversation fold observation result settings text)
  unit_test(consumer/${module} consumer_core)
endforeach()
