# SPDX-License-Identifier: MIT
# It stands on the poller, whose descriptors are of the system: not in the world. tests/explore/pollable_test.c
# compiles both with descriptors of its own.
list(APPEND poller_sources src/pollable/pollable.c)
