scenario_test(scenario/cli scenario)
