scenario_test(deploy/acl scenario)
