# SPDX-License-Identifier: MIT
# The pool under every schedule
cenote_test(explore/pool_map_test.c WORLD)
cenote_test(explore/pool_line_test.c WORLD)
cenote_test(explore/pool_take_test.c WORLD)
cenote_test(explore/pool_idle_test.c WORLD)
cenote_test(explore/pool_close_test.c WORLD)
cenote_test(explore/pool_resize_test.c WORLD)
cenote_test(explore/pool_look_test.c WORLD)
