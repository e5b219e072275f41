unit_test(loop/loop executor_loop)
