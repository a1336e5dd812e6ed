# SPDX-License-Identifier: MIT
# Programs that are of use to users, each from one room and without any of our libraries.
#   cenote-faultproxy   a proxy that fails on demand, over libuv; left out where there is none

if(CENOTE_UV_FOUND AND CENOTE_ROUTE)
  set(CENOTE_HAS_FAULTPROXY ON)
  set(faultproxy_sources)
  include(${CMAKE_SOURCE_DIR}/src/faultproxy/sources.cmake)
  add_executable(cenote-faultproxy ${faultproxy_sources})
  target_include_directories(cenote-faultproxy PRIVATE include src)
  target_compile_definitions(cenote-faultproxy PRIVATE _GNU_SOURCE)
  target_compile_options(cenote-faultproxy PRIVATE -include ${CMAKE_SOURCE_DIR}/src/base/banned.h)
  target_link_libraries(cenote-faultproxy PRIVATE cenote::uv)
  install(TARGETS cenote-faultproxy RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES man/cenote-faultproxy.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
else()
  set(CENOTE_HAS_FAULTPROXY OFF)
  message(STATUS "cenote-faultproxy is left out: there is no libuv (libuv1-dev), or it is switched off with CENOTE_ROUTE")
endif()
