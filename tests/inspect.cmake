# SPDX-License-Identifier: MIT
# Tests of libcenote-inspect, and its page in a browser.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(jansson QUIET IMPORTED_TARGET jansson)
endif()
if(NOT TARGET PkgConfig::jansson OR NOT CENOTE_CURL_FOUND)
  if(CENOTE_NEED_INSPECT)
    message(FATAL_ERROR "the tests of libcenote-inspect need jansson (libjansson-dev, pkg-config) and libcurl (libcurl4-openssl-dev)")
  endif()
  message(STATUS "the tests of libcenote-inspect are left out: there is no jansson (libjansson-dev, pkg-config) or no libcurl")
  return()
endif()

add_library(test-inspect-client STATIC EXCLUDE_FROM_ALL inspect/client.c)
target_compile_definitions(test-inspect-client PRIVATE _GNU_SOURCE)
target_link_libraries(test-inspect-client PUBLIC inspect-tested PkgConfig::jansson cenote::beneath-curl)
target_include_directories(test-inspect-client PUBLIC ${CMAKE_SOURCE_DIR}/tests)

# cenote_inspect_test(name): tests/inspect/NAME_test.c, with a client
function(cenote_inspect_test name)
  cenote_test(inspect/${name}_test.c REAL)
  target_link_libraries(inspect-${name}_test PRIVATE test-inspect-client)
endfunction()
cenote_inspect_test(routes)
cenote_inspect_test(door)
cenote_inspect_test(options)
cenote_inspect_test(json)
cenote_inspect_test(history)
cenote_inspect_test(sized)
target_sources(inspect-sized_test PRIVATE support/sized.c)
cenote_inspect_test(life)
target_link_options(inspect-life_test PRIVATE -Wl,--wrap=secure_getenv)
cenote_inspect_test(crowd)
cenote_inspect_test(faults)
target_link_options(inspect-faults_test PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup)
cenote_inspect_test(metrics)
target_compile_definitions(inspect-metrics_test PRIVATE HAS_NET=$<BOOL:${CENOTE_HAS_NET}>)

# What the page is looked at in: tests/inspect/browser/run starts it.
if(CENOTE_HAS_ROUTE)
  add_executable(inspect-shop inspect/shop.c)
  target_link_libraries(inspect-shop PRIVATE cenote-inspect-shared cenote-route-shared cenote-shared Threads::Threads)
  target_compile_options(inspect-shop PRIVATE -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
  set_target_properties(inspect-shop PROPERTIES ENABLE_EXPORTS ON) # a backtrace has names
  if(CENOTE_TEST_WORLDS) # a build that is for some tests; this one is run from another
    set_target_properties(inspect-shop PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endif()
