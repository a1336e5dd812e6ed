list(APPEND cenote_sources
  src/pool/close.c
  src/pool/idle.c
  src/pool/line.c
  src/pool/lines.c
  src/pool/look.c
  src/pool/map.c
  src/pool/new.c
  src/pool/pending.c
  src/pool/places.c
  src/pool/resize.c
  src/pool/scope.c
  src/pool/slot.c
  src/pool/slots.c
  src/pool/take.c
  src/pool/wait.c)
