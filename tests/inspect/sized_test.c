/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-inspect. */
#include <cenote/inspect.h>

#include <stdlib.h>
#include <unistd.h>

#include "support/sized.h"
#include "support/test.h"

static void fill(void *full)
{
    ((cen_inspect_options *)full)->at = "127.0.0.1:0";
}

static cen_status call_start(void *given)
{
    cen_inspect *inspect = NULL;
    cen_status status = cen_inspect_start(given, &inspect, NULL);
    cen_inspect_stop(inspect);
    return status;
}

/* guarantees: sized.every-size */
TEST(options_of_every_size_are_accepted)
{
    static const sized_case cases[] = {SIZED_INPUT(cen_inspect_options, size, fill, call_start)};
    char scratch[] = "/tmp/cenote-sized-XXXXXX", inner[64];
    expect(mkdtemp(scratch) != NULL);
    setenv("XDG_RUNTIME_DIR", scratch, 1);
    SIZED_TRY(cases);
    snprintf(inner, sizeof inner, "%s/cenote", scratch);
    rmdir(inner);
    rmdir(scratch);
}
