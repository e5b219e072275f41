unit_test(base/loop executor_loop)
unit_test(base/log executor_loop)
