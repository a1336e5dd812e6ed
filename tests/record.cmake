# Tests of src/record
# What has threads runs with those of the system, which ThreadSanitizer can
# watch, and its short version in a world, under every schedule.
cenote_test(unit/record/histogram_explored_test.c WORLD)
cenote_test(unit/record/owned_explored_test.c WORLD)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  cenote_test(unit/record/real_time_test.c REAL)
endif()
cenote_test(unit/record/histogram_test.c REAL)
cenote_test(unit/record/compact_test.c REAL)
cenote_test(unit/record/compact_explored_test.c WORLD)
cenote_test(unit/record/ring_test.c REAL)
cenote_test(unit/record/ring_explored_test.c WORLD)
cenote_test(unit/record/events_test.c REAL)
cenote_test(unit/record/directory_test.c REAL)
cenote_test(unit/record/directory_fork_test.c REAL)
cenote_test(unit/record/directory_explored_test.c WORLD)
