/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/mariadb.h>

extern MYSQL *mysql;
extern void *vault;
