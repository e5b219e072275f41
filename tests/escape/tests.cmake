# Attacks on the box, each by name, through the real executor.
foreach(module attacks births blocking cgroup control
    defences exhaustion files floods forgery frames
    network rollback sessions snapshots survival walls)
  scenario_test(escape/${module} escape)
endforeach()
