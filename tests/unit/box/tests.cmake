unit_test(box/policy executor_policy_reader)

# TSan makes vfork() a fork(), and a box is entered by the former.
if(NOT QUERN_SANITIZE MATCHES thread)
  foreach(module box sweep)
    unit_test(box/${module} executor_walls)
    target_sources(test_box_${module} PRIVATE unit/box/opened.c)
    add_dependencies(test_box_${module} quern-box)
    target_compile_definitions(test_box_${module} PRIVATE
      QUERN_BOX="$<TARGET_FILE:quern-box>")
  endforeach()
endif()
