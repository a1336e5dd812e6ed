/* SPDX-License-Identifier: MIT */
/* Numbers as people read them, and paths that are not left behind. */
#include "tool/words.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"
#include "tool/stop.h"

static char text[WORDS_ROOM];

static void says(const char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0) test_fail(__FILE__, __LINE__, "\"%s\" instead of \"%s\"", got, wanted);
}

TEST(histogram_have_three_figures_and_the_unit_that_fits)
{
    says(words_duration(text, 0), "0 ns");
    says(words_duration(text, 999), "999 ns");
    says(words_duration(text, 1000), "1.00 us");
    says(words_duration(text, 9996), "10.0 us");
    says(words_duration(text, 12345), "12.3 us");
    says(words_duration(text, 999400), "999 us");
    says(words_duration(text, 999600), "1.00 ms");
    says(words_duration(text, 1250000000), "1.25 s");
    says(words_duration(text, INT64_C(200000000000)), "3 min 20 s");
    says(words_duration(text, INT64_C(7260000000000)), "2 h 1 min");
    says(words_duration(text, -1), "?");
}

TEST(counts_rates_shares_and_bytes_read_well)
{
    says(words_count(text, 0), "0");
    says(words_count(text, 999), "999");
    says(words_count(text, 1000), "1,000");
    says(words_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
    says(words_rate(text, 0), "0.00/s");
    says(words_rate(text, 9.314), "9.31/s");
    says(words_rate(text, 12345.4), "12,345/s");
    says(words_share(text, 0), "0 %");
    says(words_share(text, 0.0002), "0.02 %");
    says(words_share(text, 0.4), "40 %");
    says(words_share(text, 0.995), "99.5 %");
    says(words_share(text, 1), "100 %");
    says(words_bytes(text, 1023), "1023 B");
    says(words_bytes(text, 65536), "64.0 KiB");
    says(words_bytes(text, 1u << 30), "1.00 GiB");
}

TEST(a_table_is_as_wide_as_its_cells)
{
    static table made;
    char *got;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    table_begin(&made, 3);
    table_row(&made);
    table_set(&made, 1, "p50");
    table_set(&made, 2, "max");
    table_row(&made);
    table_set(&made, 0, "wait");
    table_set(&made, 1, "%d ns", 12345);
    table_set(&made, 2, "1");
    table_print(&made, out, 2);
    fclose(out);
    says(got, "             p50  max\n  wait  12345 ns    1\n");
    free(got);
}

TEST(named_paths_are_removed_the_last_one_first_and_marks_keep_the_earlier_ones)
{
    char place[] = "/tmp/cenote-words-XXXXXX", file[64], kept[64];
    expect(mkdtemp(place));
    snprintf(kept, sizeof kept, "%s/kept", place);
    snprintf(file, sizeof file, "%s/kept/file", place);
    expect(stop_remove_later(place));
    int mark = stop_mark();
    expect(mkdir(kept, 0700) == 0 && stop_remove_later(kept));
    FILE *made = fopen(file, "w");
    expect(made && fclose(made) == 0 && stop_remove_later(file));
    stop_remove_since(mark);
    expect(access(kept, F_OK) != 0 && access(place, F_OK) == 0);
    stop_remove_since(0);
    expect(access(place, F_OK) != 0);
}
