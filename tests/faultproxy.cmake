# Tests of src/faultproxy, and the program for tests that want it between them and a server.

# cenote_needs_faultproxy(NAME): the test NAME has support/faultproxy.h
function(cenote_needs_faultproxy name)
  target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/faultproxy.c)
  target_compile_definitions(${name} PRIVATE CENOTE_FAULTPROXY="$<TARGET_FILE:cenote-faultproxy>")
  add_dependencies(${name} cenote-faultproxy)
endfunction()

set(faultproxy_parser ${CMAKE_SOURCE_DIR}/src/faultproxy/address.c ${CMAKE_SOURCE_DIR}/src/faultproxy/command.c)
cenote_test(unit/faultproxy/command_test.c REAL ${faultproxy_parser})
cenote_test(unit/faultproxy/flow_test.c REAL ${CMAKE_SOURCE_DIR}/src/faultproxy/faults.c ${CMAKE_SOURCE_DIR}/src/faultproxy/flow.c)
foreach(name link faults hole listener control options chaos)
  cenote_test(unit/faultproxy/${name}_test.c REAL)
  cenote_needs_faultproxy(unit-faultproxy-${name}_test)
endforeach()
