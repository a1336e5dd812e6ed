# SPDX-License-Identifier: MIT
# Real servers for tests (support/servers.h).
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  return()
endif()

add_library(test-servers STATIC EXCLUDE_FROM_ALL support/servers.c support/servers/guardian.c support/servers/processes.c
            support/servers/ports.c support/servers/files.c support/servers/settings.c support/servers/template.c
            support/servers/postgresql.c support/servers/mariadb.c support/servers/redis.c support/servers/nginx.c)
target_include_directories(test-servers PUBLIC ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(test-servers PRIVATE _GNU_SOURCE SERVERS_TEMPLATES="${CMAKE_BINARY_DIR}/server-templates")
target_compile_options(test-servers PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
target_link_libraries(test-servers PUBLIC Threads::Threads)

add_executable(with-server EXCLUDE_FROM_ALL servers/with_server.c)
target_compile_definitions(with-server PRIVATE _GNU_SOURCE)
target_link_libraries(with-server PRIVATE test-servers)

# cenote_server_test(file [sources...] [LIBS libraries...]): a program of tests on threads of the system that may
# start servers. It counts for two processors, as a server runs beside it.
function(cenote_server_test file)
  cmake_parse_arguments(PARSE_ARGV 1 given "" "" "LIBS")
  cenote_test(${file} REAL ${given_UNPARSED_ARGUMENTS})
  string(REPLACE "/" "-" name ${file})
  string(REGEX REPLACE "\\.c$" "" name ${name})
  target_link_libraries(${name} PRIVATE test-servers ${given_LIBS})
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()

cenote_server_test(unit/support/servers_test.c)
cenote_server_test(unit/support/servers_end_test.c)
cenote_server_test(unit/support/template_test.c)
cenote_server_test(unit/support/program_test.c)
cenote_server_test(unit/support/with_server_test.c)
target_compile_definitions(unit-support-with_server_test PRIVATE WITH_SERVER="$<TARGET_FILE:with-server>")
add_dependencies(unit-support-with_server_test with-server)
