# SPDX-License-Identifier: MIT
# Tests of the drivers, each beside a real server. A driver's own are in tests/drivers/NAME.cmake.
foreach(driver ${CENOTE_DRIVER_NAMES})
  include(drivers/${driver}.cmake)
endforeach()

# The driver that people begin their own with passes the suite of all, and what is worse does not.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  foreach(name own_conformance conformance_proof)
    cenote_test(drivers/${name}_test.c REAL drivers/conformance.c)
    target_include_directories(drivers-${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/examples)
  endforeach()

  # The end of a process whose helpers wait for a server.
  if(CENOTE_DRIVER_NAMES)
    cenote_test(drivers/exit_cancel_test.c REAL)
  endif()
  foreach(name pq mariadb redis curl)
    if(name IN_LIST CENOTE_DRIVER_NAMES)
      string(TOUPPER ${name} upper)
      target_link_libraries(drivers-exit_cancel_test PRIVATE ${name}-tested)
      target_compile_definitions(drivers-exit_cancel_test PRIVATE TEST_${upper})
    endif()
  endforeach()

  # Connections that a poller watches with a program's allocator.
  if(CENOTE_DRIVER_NAMES)
    cenote_test(drivers/poller_allocator_test.c REAL)
  endif()
  foreach(name pq mariadb redis)
    if(name IN_LIST CENOTE_DRIVER_NAMES)
      string(TOUPPER ${name} upper)
      target_link_libraries(drivers-poller_allocator_test PRIVATE ${name}-tested)
      target_compile_definitions(drivers-poller_allocator_test PRIVATE TEST_${upper})
    endif()
  endforeach()

  # The end of a process that uses TLS. libcenote itself knows of no TLS library: the test brings one.
  find_package(OpenSSL QUIET)
  if(OPENSSL_FOUND)
    cenote_test(drivers/exit_tls_test.c REAL)
    target_link_libraries(drivers-exit_tls_test PRIVATE OpenSSL::SSL OpenSSL::Crypto)
    # As a library of a program that knows nothing of it.
    add_library(tests-exit_plugin MODULE drivers/exit_plugin.c)
    target_include_directories(tests-exit_plugin PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(tests-exit_plugin PRIVATE cenote-shared OpenSSL::SSL OpenSSL::Crypto)
    target_compile_definitions(drivers-exit_tls_test PRIVATE PLUGIN="$<TARGET_FILE:tests-exit_plugin>")
    add_dependencies(drivers-exit_tls_test tests-exit_plugin)

    if(CENOTE_DRIVER_NAMES)
      cenote_test(drivers/exit_order_test.c REAL)
      target_link_options(drivers-exit_order_test PRIVATE -rdynamic)
    endif()
    foreach(name pq mariadb curl)
      if(name IN_LIST CENOTE_DRIVER_NAMES)
        string(TOUPPER ${name} upper)
        target_link_libraries(drivers-exit_order_test PRIVATE ${name}-tested)
        target_compile_definitions(drivers-exit_order_test PRIVATE TEST_${upper})
      endif()
    endforeach()
  elseif(CENOTE_NEED_DRIVERS)
    message(FATAL_ERROR "the tests of the end of a process need OpenSSL (libssl-dev)")
  endif()
endif()
