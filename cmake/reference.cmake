# SPDX-License-Identifier: MIT
# Section 3 of the manual: a page for each header and each function of the libraries that are built, made from the headers by
# tools/reference. It needs Python 3; without it, or with CENOTE_MANUAL=OFF, the pages are left out.

find_program(CENOTE_PYTHON python3)
mark_as_advanced(CENOTE_PYTHON)
set(python_works 1)
if(CENOTE_PYTHON)
  execute_process(COMMAND ${CENOTE_PYTHON} -c "import argparse, sys; sys.exit(sys.version_info < (3, 7))" RESULT_VARIABLE python_works
                  OUTPUT_QUIET ERROR_QUIET)
endif()
if(NOT CENOTE_MANUAL)
  message(STATUS "the manual of section 3 is left out: it is switched off")
  return()
elseif(NOT python_works EQUAL 0)
  message(STATUS "the manual of section 3 is left out: there is no python3 (3.7 or newer)")
  return()
endif()

file(GLOB reference_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/reference ${CMAKE_SOURCE_DIR}/tools/manual/*)
list(JOIN CENOTE_LIBRARIES "," reference_libraries)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/manual.made
                   COMMAND ${CENOTE_PYTHON} ${CMAKE_SOURCE_DIR}/tools/reference --man ${CMAKE_BINARY_DIR}/manual
                           --libraries ${reference_libraries}
                   COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/manual.made
                   DEPENDS ${headers} ${reference_sources}
                   COMMENT "Writing the manual of section 3" VERBATIM)
add_custom_target(manual ALL DEPENDS ${CMAKE_BINARY_DIR}/manual.made)
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})
