/* SPDX-License-Identifier: MIT */
#include "given.h"

int answer_503(int64_t retry_after_ns);
