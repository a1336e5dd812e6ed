# Tests of src/crew under every schedule
cenote_test(explore/crew_deque_test.c WORLD)
cenote_test(explore/crew_injector_test.c WORLD)
cenote_test(explore/crew_idle_test.c WORLD)
cenote_test(explore/crew_stop_test.c WORLD)
cenote_test(explore/crew_suspend_test.c WORLD)
cenote_test(explore/crew_task_test.c WORLD)
cenote_test(explore/crew_ask_test.c WORLD)
cenote_test(explore/crew_await_test.c WORLD)
