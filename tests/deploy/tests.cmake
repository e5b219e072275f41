scenario_test(deploy/acl scenario)
scenario_test(deploy/readme scenario)
