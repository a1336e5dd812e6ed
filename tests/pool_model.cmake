# The model and the stress tests of src/pool
cenote_test(model/pool_model_test.c WORLD support/model.c model/pool_ops.c model/pool_lend_steps.c model/pool_life_steps.c
            model/pool_rules.c model/pool_twin.c model/pool_crew.c)
cenote_test(stress/pool_stress.c REAL stress/pool_load.c)
cenote_test(stress/pool_stress.c PORTABLE stress/pool_load.c)
cenote_test(stress/pool_rounds_stress.c REAL stress/pool_load.c)
cenote_test(stress/pool_rounds_stress.c PORTABLE stress/pool_load.c)
