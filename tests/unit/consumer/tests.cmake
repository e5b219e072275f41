foreach(module arguments blob cache catalog conversation ends fetch_policy fold
    known observation output request result settings text told)
  unit_test(consumer/${module} consumer_core)
endforeach()
