# SPDX-License-Identifier: MIT
# Tests of the routing pool, and of a router that follows a registry
cenote_test(unit/router/follow_test.c WORLD)
cenote_test(unit/net/pool_test.c REAL)
cenote_test(unit/net/pool_async_test.c REAL)
cenote_test(unit/net/pool_fault_test.c REAL)
cenote_test(stress/mux_pool_stress.c REAL)
cenote_test(stress/mux_pool_stress.c PORTABLE)
