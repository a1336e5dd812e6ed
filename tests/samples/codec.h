/* SPDX-License-Identifier: MIT */
#include "given.h"

#include <cenote/codec.h>

size_t bound(void *argument, size_t payload_size);
cen_status encode(void *argument, uint64_t id, const void *payload, size_t size, void *out, size_t *written,
                  cen_error *error);
cen_decoded decode(void *argument, const void *bytes, size_t size, cen_decoding *decoding, cen_error *error);
