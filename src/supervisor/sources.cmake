list(APPEND route_sources
  src/supervisor/call.c
  src/supervisor/change.c
  src/supervisor/child.c
  src/supervisor/steward.c
  src/supervisor/house.c
  src/supervisor/intensity.c
  src/supervisor/look.c
  src/supervisor/machine.c
  src/supervisor/new.c
  src/supervisor/order.c
  src/supervisor/out.c
  src/supervisor/owner.c
  src/supervisor/stop.c
  src/supervisor/supply.c
  src/supervisor/tenure.c
  src/supervisor/wait.c)
