# SPDX-License-Identifier: MIT
set(pq_sources
  src/pq/block.c
  src/pq/book.c
  src/pq/capacity.c
  src/pq/driver.c
  src/pq/later.c
  src/pq/link.c
  src/pq/options.c
  src/pq/queue.c
  src/pq/run.c
  src/pq/session.c
  src/pq/statements.c
  src/pq/stop.c
  src/pq/tls.c
  src/pq/words.c
  src/pq/work.c
)
