/* SPDX-License-Identifier: MIT */
/* A pool from inside, by chapters. Only the room's own files include this. */
#ifndef CENI_POOL_INTERNAL_H
#define CENI_POOL_INTERNAL_H

#include "pool/lending.h"
#include "pool/life.h"
#include "pool/places.h"
#include "pool/pool.h"
#include "pool/telling.h"

#endif
