# Packages on demand, from folders and an index that the tests make.
foreach(module asked folder hostile index names tools)
  scenario_test(packages/${module} scenario)
endforeach()
# Each installation starts pip, which takes a second where nobody else runs.
set_tests_properties(packages/asked packages/folder packages/hostile
  packages/index packages/tools PROPERTIES TIMEOUT 900)
