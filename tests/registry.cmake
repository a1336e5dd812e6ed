# SPDX-License-Identifier: MIT
# Tests of src/registry
cenote_test(unit/registry/key_test.c WORLD)
cenote_test(unit/registry/new_test.c WORLD)
cenote_test(unit/registry/describe_test.c WORLD)
cenote_test(unit/registry/change_test.c WORLD)
cenote_test(unit/registry/read_test.c WORLD)
cenote_test(unit/registry/keys_test.c WORLD)
cenote_test(unit/registry/random_test.c REAL)
cenote_test(unit/registry/pick_test.c WORLD)
cenote_test(unit/registry/owner_test.c WORLD)
cenote_test(unit/registry/listen_test.c WORLD)
cenote_test(unit/registry/many_test.c REAL)
cenote_test(unit/registry/thread_test.c REAL)
cenote_test(unit/registry/fork_test.c REAL)
cenote_test(faults/registry_faults_test.c WORLD support/faults.c)

# Under every schedule
cenote_test(explore/registry_test.c WORLD)
cenote_test(explore/registry_pick_test.c WORLD)
cenote_test(explore/registry_growth_test.c WORLD)
cenote_test(explore/registry_owner_test.c WORLD)
cenote_test(explore/registry_listen_test.c WORLD)

# Load on real threads
cenote_test(stress/registry_stress.c REAL)
cenote_test(stress/registry_stress.c PORTABLE)
