# SPDX-License-Identifier: MIT
# What libcenote-route and libcenote-net stand on, as targets. The build reads this, and so does
# find_package(cenote) of an installed package, since whoever links the static libraries needs it too.
#   cenote::urcu        liburcu's bulletproof flavour, beneath libcenote-route
#   cenote::uv          libuv, beneath libcenote-net
#   cenote::uv-static   the same as an archive, where the system has one under a name of its own
# CENOTE_URCU_FOUND and CENOTE_UV_FOUND say what there is. Targets there are always: without the
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
