foreach(module call files hierarchy image output place server session
    settings)
  unit_test(warden/${module} executor_warden)
endforeach()
target_sources(test_warden_session PRIVATE fuzz/world.c fuzz/guests.c)
