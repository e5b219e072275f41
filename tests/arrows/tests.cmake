scenario_test(arrows/arrows arrows)
scenario_test(arrows/library arrows)
