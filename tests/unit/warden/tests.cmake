foreach(module image files call settings)
  unit_test(warden/${module} executor_warden)
endforeach()
