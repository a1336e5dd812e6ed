# Tests of src/lanes. Most have crews that run nothing (unit/lanes/hand_crew.c), so that the test decides every step.
cenote_test(unit/lanes/submit_test.c WORLD unit/lanes/hand_crew.c)
cenote_test(unit/lanes/pace_test.c WORLD unit/lanes/hand_crew.c)

# Under every schedule
cenote_test(explore/lanes_test.c WORLD unit/lanes/hand_crew.c)

# Against a model
cenote_test(model/lanes_model_test.c WORLD support/model.c unit/lanes/hand_crew.c)

# On real crews
cenote_test(unit/lanes/lanes_test.c WORLD)
cenote_test(unit/lanes/describe_test.c WORLD)
cenote_test(unit/lanes/thread_test.c REAL)

# Load on real threads
cenote_test(stress/lanes_stress.c REAL)
cenote_test(stress/lanes_stress.c PORTABLE)
