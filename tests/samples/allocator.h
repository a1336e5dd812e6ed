/* SPDX-License-Identifier: MIT */
#include "given.h"

void *my_alloc(void *argument, size_t size, size_t align);
void my_free(void *argument, void *memory, size_t size, size_t align);
extern char my_arena[];
