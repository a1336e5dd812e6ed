# SPDX-License-Identifier: MIT
# libcenote, once for users and, with CENOTE_TESTS, three times for the tests:
#   cenote-tested     the real seam, planted bugs and faults compiled in
#   cenote-portable   the same on the portable seam
#   cenote-world      the fake seam and watched atomics: virtual time and the
#                     controlled scheduler over the same sources

set(rooms base port record sync runtime pool actor crew lanes)
set(cenote_sources)
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

add_library(cenote-objects OBJECT ${cenote_sources} ${port_common_sources} ${port_chosen_sources})
target_include_directories(cenote-objects PRIVATE include src)
target_compile_definitions(cenote-objects PRIVATE _GNU_SOURCE)
target_compile_options(cenote-objects PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
# Our own calls of our own functions need no detour for somebody to interpose.
target_compile_options(cenote-objects PRIVATE -fno-semantic-interposition)
set_target_properties(cenote-objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)

add_library(cenote-static STATIC $<TARGET_OBJECTS:cenote-objects>)
add_library(cenote-shared SHARED $<TARGET_OBJECTS:cenote-objects>)
foreach(library cenote-static cenote-shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME cenote VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${library} PRIVATE Threads::Threads)
endforeach()
set(version_script ${CMAKE_SOURCE_DIR}/src/cenote.map)
# nodelete: the thread-exit key's destructor must stay mapped after a dlclose.
target_link_options(cenote-shared PRIVATE -Wl,--version-script=${version_script} -Wl,-z,nodelete -Wl,-z,defs -Wl,-Bsymbolic-functions)
# The unwinder, for backtraces, comes along: the library needs nothing but libc.
target_link_options(cenote-shared PRIVATE -static-libgcc)
set_target_properties(cenote-shared PROPERTIES LINK_DEPENDS ${version_script})
if(CMAKE_C_FLAGS MATCHES "fsanitize")
  target_link_options(cenote-shared PRIVATE -Wl,-z,undefs) # the sanitizers' own symbols come with the program
endif()

function(cenote_test_library name)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(${name} PUBLIC _GNU_SOURCE CENI_PLANTS)
  target_compile_options(${name} PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
  target_link_libraries(${name} PUBLIC Threads::Threads)
endfunction()

if(CENOTE_TESTS OR CENOTE_FUZZ)
  cenote_test_library(cenote-tested ${cenote_sources} ${port_common_sources} ${port_chosen_sources})
  cenote_test_library(cenote-portable ${cenote_sources} ${port_common_sources} ${port_portable_sources})
  cenote_test_library(cenote-world ${cenote_sources} ${port_fake_sources})
  target_compile_definitions(cenote-world PUBLIC CENI_WATCHED)
endif()
