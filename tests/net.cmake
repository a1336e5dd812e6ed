# Tests of src/net: sockets of the system, so none of them is in a world.
cenote_test(unit/net/address_test.c REAL)
cenote_test(unit/net/loop_test.c REAL)
cenote_test(unit/net/socket_test.c REAL)
cenote_test(unit/net/server_test.c REAL)
cenote_test(unit/net/open_test.c REAL)
cenote_test(unit/net/mux_test.c REAL)
cenote_test(unit/net/describe_test.c REAL)
cenote_test(unit/net/end_test.c REAL)
cenote_test(unit/net/fork_test.c REAL)
cenote_test(unit/net/sized_net_test.c REAL support/sized.c)

# Load on real threads
cenote_test(stress/mux_stress.c REAL)
cenote_test(stress/mux_stress.c PORTABLE)
