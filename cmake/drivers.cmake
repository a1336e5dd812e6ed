# SPDX-License-Identifier: MIT
# The drivers: libcenote-pq, -mariadb, -sqlite, -redis and -curl, each for users, and, with CENOTE_TESTS, once more
# as NAME-tested beside the tests' own libcenote. One whose client library is not there is left out, unless it is needed.
# CENOTE_DRIVER_NAMES has those that are built.

set(CENOTE_DRIVER_NAMES)

# cenote_driver(name package below): `below` is the library of ours that it stands on
function(cenote_driver name package below)
  string(TOUPPER ${name} NAME)
  if(NOT CENOTE_DRIVERS)
    message(STATUS "libcenote-${name} is left out: drivers are switched off")
    return()
  elseif(NOT CENOTE_${NAME}_FOUND AND CENOTE_NEED_DRIVERS)
    message(FATAL_ERROR "libcenote-${name} needs ${package}. With CENOTE_DRIVERS=OFF (make install DRIVERS=OFF) no driver is built.")
  elseif(NOT CENOTE_${NAME}_FOUND)
    message(STATUS "libcenote-${name} is left out: there is no ${package}")
    return()
  elseif(NOT TARGET ${below}-shared)
    message(STATUS "libcenote-${name} is left out: there is no lib${below}")
    return()
  endif()
  include(${CMAKE_SOURCE_DIR}/src/${name}/sources.cmake)
  cenote_library(cenote-${name} ${CMAKE_SOURCE_DIR}/src/public.map ${${name}_sources})
  target_link_libraries(cenote-${name}-objects PRIVATE cenote::beneath-${name})
  # A client's header that has macros with calls we do without is read before these are banned.
  if(${name}_first_header)
    target_compile_options(cenote-${name}-objects BEFORE PRIVATE "SHELL:-include ${${name}_first_header}")
  endif()
  # Whoever includes the driver's header includes the client's.
  foreach(kind shared static)
    target_link_libraries(cenote-${name}-${kind} PUBLIC ${below}-${kind} cenote::beneath-${name})
  endforeach()
  if(CENOTE_TESTS)
    add_library(${name}-tested STATIC EXCLUDE_FROM_ALL ${${name}_sources})
    target_link_libraries(${name}-tested PUBLIC cenote-tested cenote::beneath-${name})
  endif()
  set(CENOTE_LIBRARIES ${CENOTE_LIBRARIES} cenote-${name} PARENT_SCOPE)
  set(CENOTE_DRIVER_NAMES ${CENOTE_DRIVER_NAMES} ${name} PARENT_SCOPE)
endfunction()

cenote_driver(pq libpq-dev cenote)
cenote_driver(mariadb libmariadb-dev cenote)
cenote_driver(sqlite libsqlite3-dev cenote)
cenote_driver(redis libhiredis-dev cenote)
cenote_driver(curl libcurl4-openssl-dev cenote-route)
