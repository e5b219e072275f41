scenario_test(deploy/acl scenario)
scenario_test(deploy/readme scenario)
scenario_test(deploy/quickstart scenario)
