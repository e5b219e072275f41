scenario_test(arrows/arrows arrows)
scenario_test(arrows/library arrows)
scenario_test(arrows/words arrows)
