# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # sourced by tools/check-lint-tools

fresh
mkdir "$tree/include"
put src/base/list.c <<'END'
static int shorter(void)
{
    return 1;
}

struct list *ceni_longer(int a,
                         int b)
{
    if (a) {
        return b;
    }
    return 2;
}
END
accepts "longest-functions names the longest function first" \
    bash -c "'$tools/longest-functions' '$tree' | head -n 1 | grep -E '^ *6 lines +ceni_longer +src/base/list.c:8'"
