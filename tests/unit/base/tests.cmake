unit_test(base/loop executor_loop)
