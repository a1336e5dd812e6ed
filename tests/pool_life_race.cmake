# Tests of the pool's life cycle with several threads at a time
cenote_test(explore/pool_opening_test.c WORLD)
cenote_test(explore/pool_chores_test.c WORLD)
cenote_test(explore/pool_reload_test.c WORLD)
cenote_test(explore/pool_keeper_test.c WORLD)
cenote_test(explore/pool_checkup_test.c WORLD)
cenote_test(explore/pool_pause_test.c WORLD)
cenote_test(explore/pool_interrupt_test.c WORLD)

# Load on real threads
cenote_test(stress/pool_life_stress.c REAL stress/pool_load.c)
cenote_test(stress/pool_async_stress.c REAL stress/pool_load.c)

# The model
cenote_test(model/pool_life_model_test.c WORLD support/model.c)

# Drivers whose calls are done later
cenote_test(explore/pool_driver_later_test.c WORLD)
