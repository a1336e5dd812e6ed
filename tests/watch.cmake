# SPDX-License-Identifier: MIT
# Tests of the components of a process and its events.
cenote_test(unit/watch/events_test.c REAL)
cenote_test(explore/events_test.c WORLD)
cenote_test(unit/watch/listen_test.c REAL)
cenote_test(unit/watch/listen_test.c PORTABLE)
cenote_test(unit/watch/component_test.c REAL)
if(CENOTE_HAS_NET)
  cenote_test(unit/watch/kinds_test.c REAL)
  target_compile_definitions(unit-watch-kinds_test PRIVATE CENOTE_DOCS="${CMAKE_SOURCE_DIR}/docs")
  cenote_test(stress/watch_stress.c REAL)
endif()
cenote_test(unit/watch/dump_test.c REAL)
cenote_test(unit/watch/keep_test.c REAL)

# What tracers find in the library as users get it.
if(CENOTE_HAS_PROBES)
  add_test(NAME probes COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/probes/check ${CMAKE_SOURCE_DIR}/docs/probes.md $<TARGET_FILE:cenote-shared>)
  set_tests_properties(probes PROPERTIES LABELS real TIMEOUT 60)
  add_custom_target(probes DEPENDS cenote-shared) # as each test is a target of its name
else()
  message(STATUS "the test of probes is left out: there is no <sys/sdt.h> (systemtap-sdt-dev), or probes are switched off")
endif()
