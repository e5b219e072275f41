# The machine of one job, in a world without Redis, models, executors, clocks.
unit_test(attempt/world consumer_core)
target_sources(test_attempt_world PRIVATE unit/attempt/boxes.c
  unit/attempt/judge.c unit/attempt/life.c unit/attempt/ports.c
  unit/attempt/server.c unit/attempt/store.c unit/attempt/world.c)
run_test(unit/attempt/sown unit 120 "${look_back}" test_attempt_world --sown)
