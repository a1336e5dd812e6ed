# SPDX-License-Identifier: MIT
# Tests of cenote tune: its method by itself, and the program beside real servers.
set(tool ${CMAKE_SOURCE_DIR}/src/tool)
cenote_test(tool/knee_test.c REAL ${tool}/knee.c)
cenote_test(tool/sweep_test.c REAL ${tool}/sweep.c ${tool}/knee.c)
cenote_test(tool/curve_test.c REAL ${tool}/curve.c)
cenote_test(tool/report_test.c REAL ${tool}/report.c ${tool}/report_chart.c ${tool}/report_json.c ${tool}/text_json.c ${tool}/report_style.c ${tool}/tune_words.c
            ${tool}/words.c ${tool}/options.c ${tool}/nearest.c ${tool}/stop.c ${tool}/terminal.c ${tool}/knee.c)
target_include_directories(tool-report_test PRIVATE ${CENOTE_JANSSON_INCLUDE})
target_link_libraries(tool-report_test PRIVATE ${CENOTE_JANSSON_LIBRARY})
foreach(name knee sweep curve report)
  target_compile_definitions(tool-${name}_test PRIVATE _GNU_SOURCE)
  target_link_libraries(tool-${name}_test PRIVATE m)
endforeach()

# The program as it is, driven by a script beside real servers; with those builds that are for all tests.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(TARGET tests-wait_server AND Python3_FOUND AND NOT CENOTE_TEST_WORLDS AND NOT CENOTE_TEST_NAMES)
  add_custom_target(tool-tune_programs ALL DEPENDS cenote-tool with-server tests-wait_server)
  add_test(NAME tool-tune_test COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tool/tune_test.py $<TARGET_FILE:cenote-tool>
                                       $<TARGET_FILE:with-server> $<TARGET_FILE:tests-wait_server>)
  set_tests_properties(tool-tune_test PROPERTIES TIMEOUT 1800 PROCESSORS 2 LABELS tool)
endif()
