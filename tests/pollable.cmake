# Tests of src/pollable: descriptors of the system, so not in a world, but for the explored one, which has descriptors
# of its own under the sources that ship.
cenote_test(unit/pollable/pollable_test.c REAL)
cenote_test(unit/pollable/pollable_test.c PORTABLE)
cenote_test(unit/pollable/pollable_end_test.c REAL)
cenote_test(faults/pollable_faults_test.c REAL)
cenote_test(explore/pollable_test.c WORLD ${CMAKE_SOURCE_DIR}/src/pollable/pollable.c ${CMAKE_SOURCE_DIR}/src/poller/poller.c)
target_link_options(explore-pollable_test PRIVATE -Wl,--wrap=ceni_bell_ring,--wrap=ceni_bell_silence)
