foreach(module hosts request)
  unit_test(proxy/${module} executor_proxy)
endforeach()
