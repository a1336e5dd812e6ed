# Tests of src/wire
cenote_test(unit/wire/codec_test.c WORLD)
cenote_test(unit/wire/input_test.c WORLD)
cenote_test(unit/wire/wire_test.c WORLD)
cenote_test(unit/wire/exchange_test.c WORLD)
cenote_test(unit/wire/roles_test.c WORLD)
cenote_test(unit/wire/batch_test.c WORLD)
cenote_test(faults/wire_faults_test.c WORLD support/faults.c)

# Under every schedule
cenote_test(explore/wire_exchange_test.c WORLD)
cenote_test(explore/wire_roles_test.c WORLD)
cenote_test(explore/wire_readers_test.c WORLD)
cenote_test(explore/wire_batch_test.c WORLD)

# Load on real threads
cenote_test(stress/wire_stress.c REAL)
cenote_test(stress/wire_stress.c PORTABLE)
