# The Python files on their own, then the real program with a test as warden.
foreach(module cell display figures doctests session)
  scenario_test(unit/guest/${module} unit)
endforeach()
