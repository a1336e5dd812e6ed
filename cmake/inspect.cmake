# SPDX-License-Identifier: MIT
# libcenote-inspect, over libmicrohttpd; with CENOTE_TESTS once more as inspect-tested beside the tests' own libcenote.
# The page's files become a source with their bytes, so that the library is all that a program needs.

set(CENOTE_HAS_INSPECT OFF)
if(NOT CENOTE_INSPECT)
  message(STATUS "libcenote-inspect is left out: it is switched off")
  return()
elseif(NOT CENOTE_INSPECT_FOUND AND CENOTE_NEED_INSPECT)
  message(FATAL_ERROR "libcenote-inspect needs libmicrohttpd-dev. With CENOTE_INSPECT=OFF (make install INSPECT=OFF) it is not built.")
elseif(NOT CENOTE_INSPECT_FOUND)
  message(STATUS "libcenote-inspect is left out: there is no libmicrohttpd-dev")
  return()
endif()
set(CENOTE_HAS_INSPECT ON)

file(GLOB inspect_page CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/inspect/page/*.html ${CMAKE_SOURCE_DIR}/src/inspect/page/*.css
     ${CMAKE_SOURCE_DIR}/src/inspect/page/*.js ${CMAKE_SOURCE_DIR}/src/inspect/page/*.svg)
string(REPLACE ";" "|" inspect_page_list "${inspect_page}") # a list in an argument would be taken apart
set(inspect_embedded ${CMAKE_BINARY_DIR}/inspect_page.c)
add_custom_command(OUTPUT ${inspect_embedded}
                   COMMAND ${CMAKE_COMMAND} "-DFILES=${inspect_page_list}" -DOUTPUT=${inspect_embedded} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
                   DEPENDS ${inspect_page} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
                   COMMENT "Embedding the page" VERBATIM)
add_custom_target(inspect-page DEPENDS ${inspect_embedded})

include(${CMAKE_SOURCE_DIR}/src/inspect/sources.cmake)
cenote_library(cenote-inspect ${CMAKE_SOURCE_DIR}/src/public.map ${inspect_sources} ${inspect_embedded})
add_dependencies(cenote-inspect-objects inspect-page)
target_link_libraries(cenote-inspect-objects PRIVATE cenote::beneath-inspect)
foreach(kind shared static)
  target_link_libraries(cenote-inspect-${kind} PUBLIC cenote-${kind} PRIVATE cenote::beneath-inspect)
endforeach()
list(APPEND CENOTE_LIBRARIES cenote-inspect)

if(CENOTE_TESTS OR CENOTE_FUZZ)
  add_library(inspect-tested STATIC EXCLUDE_FROM_ALL ${inspect_sources} ${inspect_embedded})
  add_dependencies(inspect-tested inspect-page)
  target_link_libraries(inspect-tested PUBLIC cenote-tested cenote::beneath-inspect)
endif()
