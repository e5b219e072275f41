fuzz_target(check schemas_message)
fuzz_target(cron schemas_message)
fuzz_target(message schemas_message)
fuzz_target(frame schemas_message)
fuzz_target(convert schemas_json)
fuzz_target(proxy executor_proxy)
fuzz_target(image executor_warden)
fuzz_target(known consumer_core)

# The warden, in a world without processes and clocks.
foreach(side guest consumer)
  fuzz_target(${side} executor_warden)
  target_sources(fuzz_${side} PRIVATE fuzz/world.c fuzz/guests.c)
endforeach()
