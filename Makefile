# SPDX-License-Identifier: MIT
# A short front door to CMake and the scripts of tools/. Each target installs
# the Debian packages it needs if they are missing.

PREFIX ?= /usr/local
DESTDIR ?=
ROUTE ?= ON
DRIVERS ?= ON
INSPECT ?= ON
# The program cenote needs every driver, and the one for HTTP stands on libcenote-route.
TOOL ?= $(if $(filter OFF,$(ROUTE)),OFF,$(if $(filter ON,$(DRIVERS)),ON,OFF))
comma := ,
# DRIVERS is ON, OFF or names: pq redis. The words of it, and the groups of packages for them:
drivers = $(subst $(comma), ,$(DRIVERS))
driver_packages = $(if $(filter ON,$(drivers)),drivers $(if $(filter OFF,$(ROUTE)),,curl),$(filter-out OFF,$(drivers)))
semicolons = $(subst $() ,;,$(strip $(drivers)))
STRESS_SECONDS ?= 60
STRESS_REQUESTS ?= 1000000
STRESS_EXITS ?= 10000
STRESS_SEEDS ?= 10
MODEL_STEPS ?= 10000000
FUZZ_SECONDS ?= 60
VERIFY ?= quick
TIMES ?= 3
LOAD ?=
BASE ?=
EXPLORE ?= deep
DEMO_QUERY = 'select count(*), sum(total) from orders where customer between ?1 % 1900 and ?1 % 1900 + 50'

.PHONY: help demo quick check check-under-load lint bench bench-queue bench-pool bench-async bench-crew bench-route bench-drivers bench-ends bench-outage bench-growth explore weaken verify stress stress-faults fuzz coverage reference site install uninstall clean
.NOTPARALLEL:

help:
	@echo 'make demo          build it and see it work: find the right size of a pool, and see one survive an outage'
	@echo 'make check         build with gcc and clang, and run every test, also under the sanitizers'
	@echo 'make quick         while you work: build with gcc, run the unit tests, check what changed since BASE; under 2 minutes'
	@echo 'make check-under-load  the tests that wait on real time, beside LOAD busy processes (two per processor), TIMES=$(TIMES) times'
	@echo 'make lint          layers, order tables, headers, symbols, static analysis'
	@echo 'make bench         every benchmark, in its long form'
	@echo 'make bench-all     the whole table, every part beside its peers in one run: under an hour, or BENCH_QUICK=1: under 5 minutes'
	@echo 'make bench-queue   the queue beside its peers'
	@echo 'make bench-pool    the pool beside its peers'
	@echo 'make bench-async   asking without waiting, beside other designs and peers'
	@echo 'make bench-crew    the crew beside other task pools'
	@echo 'make bench-route   picking one of many, and many requests on one connection, beside peers and floors'
	@echo 'make bench-drivers pooling PostgreSQL and Redis beside no pool, PgBouncer, redis-benchmark and a loop by hand'
	@echo 'make bench-ends    PostgreSQL and Redis through the pools of five languages, end to end'
	@echo 'make bench-outage  what a program sees of an outage through each of them, at the same moment'
	@echo 'make bench-growth  how cost grows with objects, threads, waiters and members, beside peers'
	@echo 'make explore       the controlled scheduler, deeper than check goes; EXPLORE=$(EXPLORE), or full: to the bounds that the tests name'
	@echo 'make weaken        which memory orders the explored tests defend; some minutes'
	@echo 'make verify        the model of the hand-off protocol, by Spin; VERIFY=$(VERIFY), or deep'
	@echo 'make stress        random load on real threads, and MODEL_STEPS=$(MODEL_STEPS) against a model, other models with STRESS_SEEDS=$(STRESS_SEEDS) new seeds; STRESS_SECONDS=$(STRESS_SECONDS), STRESS_REQUESTS=$(STRESS_REQUESTS) on connections, STRESS_EXITS=$(STRESS_EXITS) ends of a process with TLS'
	@echo 'make stress-faults servers that are killed, silent, full, demoted, in their long form: some minutes; prints a table'
	@echo 'make fuzz          the fuzzers; FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make coverage      lines and branches per room'
	@echo 'make reference     the API reference as HTML and as section 3 of the manual, from the headers'
	@echo 'make site          the documentation with the reference and a search, as a static site'
	@echo 'make install       to PREFIX=$(PREFIX), below DESTDIR if it is set; ROUTE=$(ROUTE), DRIVERS=$(DRIVERS), INSPECT=$(INSPECT) and TOOL=$(TOOL), or OFF: without them; DRIVERS="pq redis": only these'
	@echo 'make uninstall     remove what the last make install of this tree has installed (DESTDIR as then)'
	@echo 'make clean         remove build/'

demo:
	@tools/install-packages demo
	@tools/build release -DCENOTE_NEED_SQLITE=ON -DCENOTE_NEED_TOOL=ON
	@echo
	@echo 'How large should a pool of connections be? Here each is held for a query of SQLite and a millisecond of other work:'
	build/release/cenote tune --time 14s --hold 1ms --replicas 4 --report build/cenote-tune.html --query $(DEMO_QUERY)
	@echo
	@echo 'And what does a program see of a server that goes away for a while?'
	build/release/examples/pool_outage

check:
	@tools/install-packages check cross verify site
	@tools/check

quick:
	@tools/install-packages check lint
	@tools/quick $(BASE)

check-under-load:
	@tools/install-packages check
	@tools/build dev
	@tools/check-under-load --times $(TIMES) $(if $(LOAD),--load $(LOAD))

lint:
	@tools/install-packages lint
	@tools/lint

bench: bench-queue bench-pool bench-async bench-crew bench-route bench-drivers bench-ends bench-outage bench-growth

.PHONY: bench-all
bench-all:
	@tools/install-packages bench servers drivers curl
	bench/table/run

bench-queue:
	@tools/install-packages bench
	bench/queue/run

bench-pool:
	@tools/install-packages bench
	bench/pool/run

bench-async:
	@tools/install-packages bench
	bench/async/run

bench-crew:
	@tools/install-packages bench
	bench/crew/run

bench-route:
	@tools/install-packages bench
	bench/route/run

bench-drivers:
	@tools/install-packages bench
	bench/drivers/run

bench-ends:
	@tools/install-packages bench
	bench/ends/run

bench-outage:
	@tools/install-packages bench
	bench/outage/run

bench-growth:
	@tools/install-packages bench
	bench/growth/run

explore:
	@tools/install-packages check
	@tools/build explore
	CENOTE_EXPLORE_DEPTH=$(EXPLORE) tools/run-tests --show --match '^explore-|_explored_' build/explore

weaken:
	@tools/install-packages check
	tools/weaken-orders

verify:
	@tools/install-packages verify
	@tests/verify/run $(VERIFY)

stress:
	@tools/install-packages check
	@tools/build explore
	CENOTE_STRESS_SECONDS=$(STRESS_SECONDS) CENOTE_STRESS_REQUESTS=$(STRESS_REQUESTS) tools/run-tests --show --match '^stress-' build/explore
	CENOTE_MODEL_STEPS=$(MODEL_STEPS) tools/run-tests --show --match '^model-pool_life' build/explore
	for i in $$(seq $(STRESS_SEEDS)); do tools/run-tests --match '^model-(?!pool_life)' build/explore || exit 1; done
	CENOTE_EXITS=$(STRESS_EXITS) tools/check-under-load --times 1 --build build/explore exits

stress-faults:
	@tools/install-packages check
	@tools/build dev
	@tools/stress-faults

fuzz:
	@tools/install-packages fuzz
	@tools/fuzz $(FUZZ_SECONDS)

coverage:
	@tools/install-packages coverage
	@tools/coverage

reference:
	@tools/install-packages reference
	@tools/reference --html build/reference/html --man build/reference/man

site:
	@tools/install-packages site
	@tools/site

install:
	$(if $(filter-out ON OFF pq mariadb sqlite redis curl,$(drivers)),$(error DRIVERS: there is no driver $(filter-out ON OFF pq mariadb sqlite redis curl,$(drivers)); use ON, OFF, or names of pq mariadb sqlite redis curl))
	@tools/install-packages core $(if $(filter OFF,$(ROUTE)),,route) $(driver_packages) $(if $(filter OFF,$(INSPECT)),,inspect) $(if $(filter OFF,$(TOOL)),,tool)
	@tools/build release -DCMAKE_INSTALL_PREFIX='$(PREFIX)' -DCENOTE_ROUTE='$(ROUTE)' -DCENOTE_DRIVERS='$(semicolons)' -DCENOTE_INSPECT='$(INSPECT)' \
		-DCENOTE_TOOL='$(TOOL)' -DCENOTE_EXAMPLES=OFF
	DESTDIR='$(DESTDIR)' cmake --install build/release
	@echo 'Installed in $(DESTDIR)$(PREFIX). Next: ldconfig, or docs/install.md if the system does not search this folder.'
	@[ '$(TOOL)' != OFF ] || echo 'The program cenote was left out: it needs all drivers and ROUTE=ON.'
	@[ -d build/release/manual ] || echo 'The manual pages of section 3 were left out: they need python3 (tools/install-packages reference).'

uninstall:
	@tools/uninstall '$(DESTDIR)'

clean:
	rm -rf build
