# SPDX-License-Identifier: MIT
# libcenote, libcenote-route and libcenote-net, once for users and, with CENOTE_TESTS, three times for the tests,
# which have all of them in one library:
#   cenote-tested     the real seam, planted bugs and faults compiled in
#   cenote-portable   the same on the portable seam
#   cenote-world      the fake seam and watched atomics: virtual time and the
#                     controlled scheduler over the same sources

set(rooms base port record watch sync runtime pool actor crew lanes poller pollable rcu registry supervisor router wire net)
set(cenote_sources)
set(route_sources)
set(rcu_real_sources)
set(rcu_fake_sources)
set(wire_sources)
set(poller_sources)
set(net_sources)
set(port_common_sources)
set(port_unwind_sources)
set(port_no_unwind_sources)
set(port_linux_sources)
set(port_portable_sources)
set(port_fake_sources)
foreach(room ${rooms})
  include(${CMAKE_SOURCE_DIR}/src/${room}/sources.cmake)
endforeach()

if(CENOTE_PORTABLE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(port_chosen_sources ${port_portable_sources})
else()
  set(port_chosen_sources ${port_linux_sources})
endif()

include(CheckCSourceCompiles)
check_c_source_compiles("
  #include <unwind.h>
  static _Unwind_Reason_Code step(struct _Unwind_Context *c, void *a) { (void)c, (void)a; return _URC_NO_REASON; }
  int main(void) { return (int)_Unwind_Backtrace(step, 0); }" CENOTE_HAS_UNWINDER)
if(CENOTE_HAS_UNWINDER)
  list(APPEND port_common_sources ${port_unwind_sources})
else()
  list(APPEND port_common_sources ${port_no_unwind_sources})
endif()

# Probes for tracers (src/base/probe.h): quietly none where the header is missing.
include(CheckIncludeFile)
set(CENOTE_HAS_PROBES OFF)
if(CENOTE_PROBES)
  check_include_file(sys/sdt.h CENOTE_HAS_SDT)
  set(CENOTE_HAS_PROBES ${CENOTE_HAS_SDT})
endif()
function(cenote_with_probes target)
  if(CENOTE_HAS_PROBES)
    target_compile_definitions(${target} PRIVATE CENI_PROBES)
  endif()
endfunction()

# Without what they stand on the other two are left out, unless they are needed.
include(${CMAKE_SOURCE_DIR}/cmake/beneath.cmake)
set(CENOTE_HAS_ROUTE OFF)
set(CENOTE_HAS_NET OFF)
if(CENOTE_ROUTE AND CENOTE_NEED_ROUTE AND NOT (CENOTE_URCU_FOUND AND CENOTE_UV_FOUND))
  message(FATAL_ERROR "libcenote-route needs liburcu (liburcu-dev) and libcenote-net needs libuv (libuv1-dev). "
                      "With CENOTE_ROUTE=OFF (make install ROUTE=OFF) libcenote is built alone.")
endif()
if(NOT CENOTE_ROUTE)
  message(STATUS "libcenote-route and libcenote-net are left out: they are switched off")
elseif(NOT CENOTE_URCU_FOUND)
  message(STATUS "libcenote-route and libcenote-net are left out: there is no liburcu (liburcu-dev)")
else()
  set(CENOTE_HAS_ROUTE ON)
  if(NOT CENOTE_UV_FOUND)
    message(STATUS "libcenote-net is left out: there is no libuv (libuv1-dev)")
  else()
    set(CENOTE_HAS_NET ON)
  endif()
endif()

# cenote_library(name map sources...): the objects of one of our libraries, and from
# them NAME-static and NAME-shared, which users know as libNAME.
function(cenote_library name map)
  add_library(${name}-objects OBJECT ${ARGN})
  target_include_directories(${name}-objects PRIVATE include src)
  target_compile_definitions(${name}-objects PRIVATE _GNU_SOURCE)
  cenote_with_probes(${name}-objects)
  target_compile_options(${name}-objects PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
  # Our own calls of our own functions need no detour for somebody to interpose.
  target_compile_options(${name}-objects PRIVATE -fno-semantic-interposition)
  set_target_properties(${name}-objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)

  add_library(${name}-static STATIC $<TARGET_OBJECTS:${name}-objects>)
  add_library(${name}-shared SHARED $<TARGET_OBJECTS:${name}-objects>)
  foreach(library ${name}-static ${name}-shared)
    set_target_properties(${library} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${library} PRIVATE Threads::Threads)
  endforeach()
  # nodelete: hooks for the end of a thread must stay mapped after a dlclose.
  target_link_options(${name}-shared PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete -Wl,-z,defs -Wl,-Bsymbolic-functions)
  # The unwinder, for backtraces, comes along: libcenote needs nothing but libc.
  target_link_options(${name}-shared PRIVATE -static-libgcc)
  set_target_properties(${name}-shared PROPERTIES LINK_DEPENDS ${map})
  if(CMAKE_C_FLAGS MATCHES "fsanitize")
    target_link_options(${name}-shared PRIVATE -Wl,-z,undefs) # the sanitizers' own symbols come with the program
  endif()
endfunction()

set(CENOTE_LIBRARIES cenote) # those that are built, from below
configure_file(${CMAKE_SOURCE_DIR}/src/cenote.map ${CMAKE_BINARY_DIR}/cenote.map @ONLY)
cenote_library(cenote ${CMAKE_BINARY_DIR}/cenote.map ${cenote_sources} ${poller_sources} ${port_common_sources} ${port_chosen_sources})
if(CENOTE_HAS_ROUTE)
  list(APPEND CENOTE_LIBRARIES cenote-route)
  cenote_library(cenote-route ${CMAKE_SOURCE_DIR}/src/public.map ${route_sources} ${rcu_real_sources})
  target_link_libraries(cenote-route-objects PRIVATE cenote::urcu)
  target_compile_definitions(cenote-route-objects PRIVATE CENI_OUTSIDE)
  # A section is a touch of one word of the thread's: not worth a call to find it.
  target_compile_options(cenote-route-objects PRIVATE -ftls-model=initial-exec)
  target_link_libraries(cenote-route-shared PUBLIC cenote-shared PRIVATE cenote::urcu)
  target_link_libraries(cenote-route-static PUBLIC cenote-static PRIVATE cenote::urcu)
endif()
if(CENOTE_HAS_NET)
  list(APPEND CENOTE_LIBRARIES cenote-net)
  cenote_library(cenote-net ${CMAKE_SOURCE_DIR}/src/public.map ${wire_sources} ${net_sources})
  target_link_libraries(cenote-net-objects PRIVATE cenote::uv)
  target_compile_definitions(cenote-net-objects PRIVATE CENI_OUTSIDE)
  target_link_libraries(cenote-net-shared PUBLIC cenote-route-shared PRIVATE cenote::uv)
  target_link_libraries(cenote-net-static PUBLIC cenote-route-static PRIVATE cenote::uv-static)
endif()

function(cenote_test_library name)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(${name} PUBLIC _GNU_SOURCE CENI_PLANTS)
  target_compile_options(${name} PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
  target_link_libraries(${name} PUBLIC Threads::Threads)
endfunction()

if(CENOTE_TESTS OR CENOTE_FUZZ)
  set(above)
  if(CENOTE_HAS_ROUTE)
    list(APPEND above ${route_sources} ${rcu_real_sources} ${wire_sources})
  endif()
  if(CENOTE_HAS_NET)
    list(APPEND above ${net_sources})
  endif()
  cenote_test_library(cenote-tested ${cenote_sources} ${poller_sources} ${port_common_sources} ${port_chosen_sources} ${above})
  cenote_test_library(cenote-portable ${cenote_sources} ${poller_sources} ${port_common_sources} ${port_portable_sources} ${above})
  cenote_test_library(cenote-world ${cenote_sources} ${port_fake_sources} ${route_sources} ${rcu_fake_sources} ${wire_sources})
  target_compile_definitions(cenote-world PUBLIC CENI_WATCHED)
  foreach(library cenote-tested cenote-portable)
    cenote_with_probes(${library})
    if(CENOTE_HAS_ROUTE)
      target_link_libraries(${library} PUBLIC cenote::urcu)
    endif()
    if(CENOTE_HAS_NET)
      target_link_libraries(${library} PUBLIC cenote::uv)
    endif()
  endforeach()
endif()
