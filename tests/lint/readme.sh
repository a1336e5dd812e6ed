# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

fresh
put README.md <README.md
accepts "check-readme accepts a program that prints its line" "$tools/check-readme" "$tree/README.md"
put README.md < <(sed 's/nobody else writes here/somebody else does/' README.md)
rejects "check-readme rejects a program that prints something else" "> somebody else does" "$tools/check-readme" "$tree/README.md"
put README.md < <(sed 's/cen_pool_close(pool/cen_pool_shut(pool/' README.md)
rejects "check-readme rejects a program that does not compile" "cen_pool_shut" "$tools/check-readme" "$tree/README.md"
