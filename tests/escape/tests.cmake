# Attacks on the box, each by name, through the real executor.
foreach(module
    attacks births cgroup exhaustion forgery files network sessions survival walls)
  scenario_test(escape/${module} escape)
endforeach()
