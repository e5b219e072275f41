unit_test(box/box executor_walls)
unit_test(box/policy executor_policy_reader)
add_dependencies(test_box_box quern-box)
target_compile_definitions(test_box_box PRIVATE
  QUERN_BOX="$<TARGET_FILE:quern-box>")
