# Packages on demand, from folders and an index that the tests make.
foreach(module asked folder hostile index)
  scenario_test(packages/${module} scenario)
endforeach()
