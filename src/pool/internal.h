/* SPDX-License-Identifier: MIT */
/* The pool's internal header: it includes the others, by chapters. Only files of this room include it. */
#ifndef CENI_POOL_INTERNAL_H
#define CENI_POOL_INTERNAL_H

#include "pool/lending.h"
#include "pool/life.h"
#include "pool/places.h"
#include "pool/pool.h"
#include "pool/telling.h"

#endif
