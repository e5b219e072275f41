scenario_test(fake/practice_model scenario)
