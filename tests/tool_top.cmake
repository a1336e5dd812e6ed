# SPDX-License-Identifier: MIT
# Of watching a process: what needs none, and then top in a terminal (tmux), explain, metrics, events and page beside examples/inspected.
set(tool_watching ${CMAKE_SOURCE_DIR}/src/tool)
cenote_test(tool/top_model_test.c REAL ${tool_watching}/address.c ${tool_watching}/place.c ${tool_watching}/explain_advice.c ${tool_watching}/model.c
            ${tool_watching}/model_tree.c ${tool_watching}/view.c ${tool_watching}/view_panes.c ${tool_watching}/view_text.c
            ${tool_watching}/view_detail.c ${tool_watching}/view_history.c ${tool_watching}/words.c)
target_compile_definitions(tool-top_model_test PRIVATE _GNU_SOURCE)
target_include_directories(tool-top_model_test PRIVATE ${CENOTE_JANSSON_INCLUDE})
target_link_libraries(tool-top_model_test PRIVATE ${CENOTE_JANSSON_LIBRARY})

cenote_test(tool/relay_head_test.c REAL ${tool_watching}/relay_head.c)
target_compile_definitions(tool-relay_head_test PRIVATE _GNU_SOURCE)

find_program(CENOTE_PYTHON python3)
if(CENOTE_HAS_INSPECT AND CENOTE_HAS_ROUTE AND CENOTE_PYTHON AND NOT CENOTE_TEST_WORLDS)
  add_executable(tool-events_subject tool/events_subject.c)
  target_link_libraries(tool-events_subject PRIVATE cenote-shared)
  foreach(name top explain metrics events page)
    add_test(NAME tool-${name}_test COMMAND ${CENOTE_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/tool/${name}_test.py $<TARGET_FILE:cenote-tool>
                                            $<TARGET_FILE:inspected>)
    set_tests_properties(tool-${name}_test PROPERTIES LABELS tool TIMEOUT 1800 PROCESSORS 2)
  endforeach()
endif()
