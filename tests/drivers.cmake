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
endif()
