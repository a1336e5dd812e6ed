# SPDX-License-Identifier: MIT
# Descriptors of the system: not in the world.
list(APPEND poller_sources src/poller/poller.c)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  list(APPEND poller_sources src/poller/epoll.c)
else()
  list(APPEND poller_sources src/poller/nowhere.c)
endif()
