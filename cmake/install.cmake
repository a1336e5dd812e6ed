# SPDX-License-Identifier: MIT
# What `cmake --install` puts in place: the libraries that were built, each shared and static, their headers, and
# the descriptions by which pkg-config and CMake find them.
#
#   library            pkg-config      CMake           and static
#   libcenote          cenote          cenote::cenote  cenote::static
#   libcenote-route    cenote-route    cenote::route   cenote::route-static
#   libcenote-net      cenote-net      cenote::net     cenote::net-static
#   libcenote-pq       cenote-pq       cenote::pq      cenote::pq-static      and so the other drivers
#   libcenote-inspect  cenote-inspect  cenote::inspect cenote::inspect-static
#
# pkg-config --static names what the archives need, for a program that is linked with -static. Headers of a library that was left out are not installed: a
# program that needs it, or asks for it (__has_include), is told when it is compiled and not when it is linked.
include(CMakePackageConfigHelpers)

# The header says whose it is: a line of its head ends in "libcenote-route." If none does, it is libcenote's.
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/cenote/*.h)
foreach(header ${headers})
  file(STRINGS ${header} line REGEX "^ \\*.* libcenote-[a-z]+\\.$" LIMIT_COUNT 1)
  string(REGEX MATCH "cenote-[a-z]+" library "${line}")
  if(NOT library)
    set(library cenote)
  endif()
  list(APPEND ${library}_headers ${header})
endforeach()

# A library or include folder may be given as an absolute path, as some distributions do.
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
set(pc_description_cenote "${PROJECT_DESCRIPTION}")
set(pc_description_cenote-route "Registry, supervisor and router over libcenote")
set(pc_requires_cenote-route "cenote = ${PROJECT_VERSION}")
set(pc_requires_private_cenote-route liburcu-bp)
set(pc_description_cenote-net "Connections that carry many requests at once, over libcenote-route")
set(pc_requires_cenote-net "cenote-route = ${PROJECT_VERSION}")
set(pc_requires_private_cenote-net libuv)
if(CENOTE_UV_STATIC_LIBRARY)
  set(pc_requires_private_cenote-net libuv-static)
endif()

set(pc_description_cenote-pq "Connections to PostgreSQL for pools of libcenote")
set(pc_requires_cenote-pq "cenote = ${PROJECT_VERSION}, libpq")
set(pc_description_cenote-mariadb "Connections to MariaDB and MySQL for pools of libcenote")
set(pc_requires_cenote-mariadb "cenote = ${PROJECT_VERSION}, libmariadb")
set(pc_description_cenote-sqlite "Connections to SQLite for pools of libcenote")
set(pc_requires_cenote-sqlite "cenote = ${PROJECT_VERSION}, sqlite3")
set(pc_description_cenote-redis "Connections to Redis for pools of libcenote")
set(pc_requires_cenote-redis "cenote = ${PROJECT_VERSION}, hiredis")
set(pc_description_cenote-curl "HTTP clients for pools and routers of libcenote")
set(pc_requires_cenote-curl "cenote-route = ${PROJECT_VERSION}, libcurl")

set(pc_description_cenote-inspect "Metrics, JSON and a live page of everything of libcenote in a process")
set(pc_requires_cenote-inspect "cenote = ${PROJECT_VERSION}")
set(pc_requires_private_cenote-inspect libmicrohttpd)

set(cenote_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cenote)
foreach(library ${CENOTE_LIBRARIES})
  # cenote::cenote and cenote::static; cenote::route and cenote::route-static
  string(REGEX REPLACE "^cenote-" "" shared_name ${library})
  string(REGEX REPLACE "^cenote-" "" static_name ${library}-static)
  set_target_properties(${library}-shared PROPERTIES EXPORT_NAME ${shared_name})
  set_target_properties(${library}-static PROPERTIES EXPORT_NAME ${static_name})
  # The upper ones find those below in their own folder: a program's search path is not theirs.
  if(NOT library STREQUAL "cenote")
    set_target_properties(${library}-shared PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  add_library(cenote::${shared_name} ALIAS ${library}-shared)
  add_library(cenote::${static_name} ALIAS ${library}-static)
  install(TARGETS ${library}-shared ${library}-static EXPORT cenote-targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${${library}_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cenote)
  set(pc_description ${pc_description_${library}})
  set(pc_requires ${pc_requires_${library}})
  set(pc_requires_private ${pc_requires_private_${library}})
  configure_file(cmake/library.pc.in ${CMAKE_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(EXPORT cenote-targets NAMESPACE cenote:: DESTINATION ${cenote_package_dir})
configure_package_config_file(cmake/cenote-config.cmake.in ${CMAKE_BINARY_DIR}/cenote-config.cmake
                              INSTALL_DESTINATION ${cenote_package_dir})
# Before 1.0 a minor version may change anything.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cenote-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cenote-config.cmake ${CMAKE_BINARY_DIR}/cenote-config-version.cmake
        DESTINATION ${cenote_package_dir})
if(CENOTE_HAS_ROUTE OR CENOTE_DRIVER_NAMES OR CENOTE_HAS_INSPECT)
  install(FILES cmake/beneath.cmake DESTINATION ${cenote_package_dir} RENAME cenote-beneath.cmake)
endif()
