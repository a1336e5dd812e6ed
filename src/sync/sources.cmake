list(APPEND cenote_sources
  src/sync/future.c
  src/sync/group.c
  src/sync/inbox.c
  src/sync/inline.c
  src/sync/holder.c
  src/sync/queue.c
  src/sync/queue_blocks.c
  src/sync/queue_meet.c
  src/sync/queue_ring.c
  src/sync/queue_source.c
  src/sync/select.c
  src/sync/stop.c
  src/sync/waitlist.c
  src/sync/wheel.c)
