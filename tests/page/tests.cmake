# The page in Chromium; its modules that need no browser in Node.js.
if(TARGET quern-gateway)
  scenario_test(page/page page)
  scenario_test(page/every page)
  scenario_test(page/keyboard page)
  scenario_test(page/hostile page)
  scenario_test(page/heavy page)
  scenario_test(page/views page)
  scenario_test(page/operators page)
  foreach(name conversation chart_data)
    run_test(page/${name} page 60 "" node --test
      ${CMAKE_CURRENT_LIST_DIR}/${name}_test.mjs)
  endforeach()
endif()
