# Attacks on the box, each by name, through the real executor.
foreach(module attacks births blocking cgroup containers control
    defences exhaustion files floods forgery frames locks
    network rollback sessions snapshots survival users walls)
  scenario_test(escape/${module} escape)
endforeach()
