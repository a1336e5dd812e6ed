list(APPEND route_sources
  src/rcu/bin.c
  src/rcu/read.c)
list(APPEND rcu_real_sources
  src/rcu/urcu.c)
list(APPEND rcu_fake_sources
  src/rcu/fake.c)
