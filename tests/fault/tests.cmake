# Every test_*.py here kills something.
file(GLOB faults CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
foreach(fault ${faults})
  get_filename_component(module ${fault} NAME_WE)
  string(REGEX REPLACE "^test_" "" module ${module})
  scenario_test(fault/${module} fault)
endforeach()
