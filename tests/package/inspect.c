/* SPDX-License-Identifier: MIT */
/* A program outside the tree that uses libcenote-inspect: it is started, says where it is, and is stopped. */
#include <stdio.h>
#include <stdlib.h>

#include <cenote/inspect.h>

int main(void)
{
    cen_inspect *inspect;
    cen_error error;
    cen_inspect_options options = CEN_INSPECT_OPTIONS(.at = "127.0.0.1:0");
    if (cen_inspect_start(&options, &inspect, &error) != CEN_OK) return fprintf(stderr, "%s\n", error.text), 1;
    printf("%s\n", cen_inspect_address(inspect));
    cen_inspect_stop(inspect);
    char *metrics = cen_inspect_metrics(NULL);
    int status = metrics ? 0 : 1;
    free(metrics);
    return status;
}
