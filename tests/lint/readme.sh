# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

fresh
put README.md <README.md
accepts "check-readme accepts a program that prints the squares" "$tools/check-readme" "$tree/README.md"
put README.md < <(sed 's/n \* n/n + n/' README.md)
rejects "check-readme rejects a program that prints something else" "> 2" "$tools/check-readme" "$tree/README.md"
put README.md < <(sed 's/cen_queue_close(q/cen_queue_shut(q/' README.md)
rejects "check-readme rejects a program that does not compile" "cen_queue_shut" "$tools/check-readme" "$tree/README.md"
