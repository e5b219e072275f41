foreach(module call files hierarchy image leaving output place server session
    settings)
  unit_test(warden/${module} executor_warden)
endforeach()
foreach(module leaving session)
  target_sources(test_warden_${module} PRIVATE fuzz/world.c fuzz/guests.c)
endforeach()
