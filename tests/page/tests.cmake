# The page in Chromium; its modules that need no browser in Node.js.
if(TARGET quern-gateway)
  scenario_test(page/page page)
  scenario_test(page/hostile page)
  run_test(page/conversation page 60 "" node --test
    ${CMAKE_CURRENT_LIST_DIR}/conversation_test.mjs)
endif()
