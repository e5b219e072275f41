foreach(module image files call hierarchy settings)
  unit_test(warden/${module} executor_warden)
endforeach()
