scenario_test(arrows/arrows arrows)
