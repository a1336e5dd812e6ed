# SPDX-License-Identifier: MIT
# What `cmake --install` puts in place: both libraries, the headers, and the
# descriptions by which pkg-config and CMake find them.
#   find_package(cenote)   cenote::cenote (shared) and cenote::static
#   pkg-config cenote      add --static to link libcenote.a
include(CMakePackageConfigHelpers)

set_target_properties(cenote-shared PROPERTIES EXPORT_NAME cenote)
set_target_properties(cenote-static PROPERTIES EXPORT_NAME static)
add_library(cenote::cenote ALIAS cenote-shared)
add_library(cenote::static ALIAS cenote-static)

set(cenote_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cenote)
install(TARGETS cenote-shared cenote-static EXPORT cenote-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/cenote DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT cenote-targets NAMESPACE cenote:: DESTINATION ${cenote_package_dir})

configure_package_config_file(cmake/cenote-config.cmake.in ${CMAKE_BINARY_DIR}/cenote-config.cmake
                              INSTALL_DESTINATION ${cenote_package_dir})
# Before 1.0 a minor version may change anything.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cenote-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cenote-config.cmake ${CMAKE_BINARY_DIR}/cenote-config-version.cmake
        DESTINATION ${cenote_package_dir})

# A library or include folder may be given as an absolute path, as some distributions do.
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/cenote.pc.in ${CMAKE_BINARY_DIR}/cenote.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cenote.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
