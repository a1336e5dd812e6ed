# SPDX-License-Identifier: MIT
# Of the program cenote: its options, words and counts by themselves; and run, end to end beside real servers.
set(tool ${CMAKE_SOURCE_DIR}/src/tool)
cenote_test(tool/run_options_test.c REAL ${tool}/options.c ${tool}/nearest.c)
cenote_test(tool/run_words_test.c REAL ${tool}/words.c ${tool}/terminal.c ${tool}/options.c ${tool}/nearest.c ${tool}/stop.c)
cenote_test(tool/run_tally_test.c REAL ${tool}/load_tally.c ${tool}/load_draw.c)
cenote_test(tool/run_load_test.c REAL ${tool}/load.c ${tool}/load_draw.c ${tool}/load_futures.c ${tool}/load_tally.c
            ${tool}/load_threads.c)
cenote_test(tool/text_json_test.c REAL ${tool}/text_json.c)
target_link_libraries(tool-text_json_test PRIVATE ${CENOTE_JANSSON_LIBRARY})
foreach(name options words tally load)
  target_link_libraries(tool-run_${name}_test PRIVATE m)
endforeach()

find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET with-server AND TARGET tests-wait_server AND Python3_FOUND AND NOT CENOTE_TEST_WORLDS AND NOT CENOTE_TEST_NAMES)
  add_test(NAME tool-run COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tool/run_test.py $<TARGET_FILE:cenote-tool>
                                 $<TARGET_FILE:with-server> $<TARGET_FILE:tests-wait_server>)
  set_tests_properties(tool-run PROPERTIES TIMEOUT 1800 LABELS tool PROCESSORS 2)
  # The programs are made with the rest, as the tests that are run are.
  add_custom_target(tool-run-programs ALL DEPENDS cenote-tool with-server tests-wait_server)
endif()
