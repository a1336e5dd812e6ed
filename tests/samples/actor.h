/* SPDX-License-Identifier: MIT */
#include "given.h"

struct account {
    long balance;
};
extern struct account account;
extern cen_future stopped;
