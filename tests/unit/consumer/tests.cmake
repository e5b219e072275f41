foreach(module arguments blob cache catalog charset conversation ends expression
    fetch_policy fold known observation output page request result settings text
    told)
  unit_test(consumer/${module} consumer_core)
endforeach()
