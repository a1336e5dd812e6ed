list(APPEND cenote_sources
  src/lanes/ledger.c src/lanes/new.c src/lanes/submit.c src/lanes/observe.c src/lanes/pace.c src/lanes/settings.c
  src/lanes/stop.c src/lanes/look.c src/lanes/describe.c)
