foreach(module call files hierarchy image loop output place settings)
  unit_test(warden/${module} executor_warden)
endforeach()
