unit_test(box/policy executor_policy_reader)

# TSan makes vfork() a fork(), and a box is entered by the former.
if(NOT QUERN_SANITIZE MATCHES thread)
  unit_test(box/box executor_walls)
  add_dependencies(test_box_box quern-box)
  target_compile_definitions(test_box_box PRIVATE
    QUERN_BOX="$<TARGET_FILE:quern-box>")
endif()
