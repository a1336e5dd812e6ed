# SPDX-License-Identifier: MIT
# What libcenote-route and libcenote-net stand on, as targets. The build reads this, and so does
# find_package(cenote) of an installed package, since whoever links the static libraries needs it too.
#   cenote::urcu        liburcu's bulletproof flavour, beneath libcenote-route
#   cenote::uv          libuv, beneath libcenote-net
#   cenote::uv-static   the same as an archive, where the system has one under a name of its own
#   cenote::beneath-pq and so on: the client library beneath each driver
#   cenote::beneath-inspect   libmicrohttpd, beneath libcenote-inspect
# CENOTE_URCU_FOUND, CENOTE_UV_FOUND, CENOTE_PQ_FOUND and so on say what there is. Targets there are always: without the
# library the linker names it, and whoever links only shared libraries of ours is not disturbed.
#
# Libraries are linked by name and not by path, so that a program that is linked with -static gets archives.

find_path(CENOTE_URCU_INCLUDE urcu/urcu-bp.h)
find_library(CENOTE_URCU_LIBRARY urcu-bp)
find_path(CENOTE_UV_INCLUDE uv.h)
find_library(CENOTE_UV_LIBRARY uv)
find_library(CENOTE_UV_STATIC_LIBRARY uv_a)
mark_as_advanced(CENOTE_URCU_INCLUDE CENOTE_URCU_LIBRARY CENOTE_UV_INCLUDE CENOTE_UV_LIBRARY CENOTE_UV_STATIC_LIBRARY)

set(CENOTE_URCU_FOUND OFF)
if(CENOTE_URCU_INCLUDE AND CENOTE_URCU_LIBRARY)
  set(CENOTE_URCU_FOUND ON)
endif()
set(CENOTE_UV_FOUND OFF)
if(CENOTE_UV_INCLUDE AND CENOTE_UV_LIBRARY)
  set(CENOTE_UV_FOUND ON)
endif()

# cenote_beneath(target library include name...): a target that links the names, found where the library is
function(cenote_beneath target library include)
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${ARGN}")
  if(library)
    get_filename_component(folder ${library} DIRECTORY)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_DIRECTORIES ${folder})
  endif()
  if(include)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${include})
  endif()
endfunction()

cenote_beneath(cenote::urcu "${CENOTE_URCU_LIBRARY}" "${CENOTE_URCU_INCLUDE}" urcu-bp)
cenote_beneath(cenote::uv "${CENOTE_UV_LIBRARY}" "${CENOTE_UV_INCLUDE}" uv)
if(CENOTE_UV_STATIC_LIBRARY)
  cenote_beneath(cenote::uv-static "${CENOTE_UV_STATIC_LIBRARY}" "${CENOTE_UV_INCLUDE}" uv_a dl rt)
else()
  cenote_beneath(cenote::uv-static "${CENOTE_UV_LIBRARY}" "${CENOTE_UV_INCLUDE}" uv dl rt)
endif()

# cenote_client(driver header library [folder]): what is beneath a driver, and CENOTE_DRIVER_FOUND
function(cenote_client driver header library)
  string(TOUPPER ${driver} DRIVER)
  find_path(CENOTE_${DRIVER}_INCLUDE ${header} PATH_SUFFIXES ${ARGN})
  find_library(CENOTE_${DRIVER}_LIBRARY ${library})
  mark_as_advanced(CENOTE_${DRIVER}_INCLUDE CENOTE_${DRIVER}_LIBRARY)
  cenote_beneath(cenote::beneath-${driver} "${CENOTE_${DRIVER}_LIBRARY}" "${CENOTE_${DRIVER}_INCLUDE}" ${library})
  set(CENOTE_${DRIVER}_FOUND OFF PARENT_SCOPE)
  if(CENOTE_${DRIVER}_INCLUDE AND CENOTE_${DRIVER}_LIBRARY)
    set(CENOTE_${DRIVER}_FOUND ON PARENT_SCOPE)
  endif()
endfunction()
cenote_client(pq libpq-fe.h pq postgresql)
cenote_client(mariadb mysql.h mariadb mariadb)
cenote_client(sqlite sqlite3.h sqlite3)
cenote_client(redis hiredis/hiredis.h hiredis)
cenote_client(curl curl/curl.h curl)
cenote_client(inspect microhttpd.h microhttpd)
