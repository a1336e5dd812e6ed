/* SPDX-License-Identifier: MIT */
/* Files that are mapped for others, files that are read, and the clock on the wall. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

static char folder[64], path[80], old[88];

static void begin(void)
{
    snprintf(folder, sizeof folder, "%s", "/tmp/cenote-file-XXXXXX");
    expect(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(old, sizeof old, "%s.old", path);
}

static void end(void)
{
    unlink(path);
    unlink(old);
    expect(rmdir(folder) == 0); /* nothing else was left there */
}

static ceni_shared_file make(void)
{
    ceni_shared_file file;
    int code = 0;
    expect_equal(ceni_shared_file_make(&file, path, 10000, &code), CEN_OK);
    return file;
}

static void expect_begins(const char *name, const char *text)
{
    int file, code;
    size_t done;
    char bytes[8] = "";
    expect_equal(ceni_file_open(&file, name, &code), CEN_OK);
    expect_equal(ceni_file_read(file, 0, bytes, strlen(text), &done, &code), CEN_OK);
    expect_equal(done, strlen(text));
    expect_text(bytes, text);
    ceni_file_close(file);
}

TEST(a_shared_file_has_its_name_when_it_is_told_and_what_had_it_before_is_kept)
{
    begin();
    int code = 0;
    ceni_shared_file first = make(), second = make();
    expect(access(path, F_OK) != 0);
    for (size_t i = 0; i < 10000; i++) expect_equal(((char *)first.memory)[i], 0);
    memcpy(first.memory, "one", 3);
    expect_equal(ceni_shared_file_name(&second, path, old, &code), CEN_OK);
    expect(access(old, F_OK) != 0); /* there was nothing before it */
    memcpy(second.memory, "two", 3);
    expect_begins(path, "two");
    munmap(first.memory, first.size);
    ceni_shared_file third = make();
    memcpy(third.memory, "three", 5);
    expect_equal(ceni_shared_file_name(&third, path, old, &code), CEN_OK);
    expect_begins(path, "three");
    expect_begins(old, "two");
    memcpy(second.memory, "TWO", 3); /* who has it mapped goes on */
    expect_begins(old, "TWO");
    end();
}

TEST(a_shared_file_that_is_discarded_leaves_nothing)
{
    begin();
    ceni_shared_file file = make();
    ceni_shared_file_discard(&file);
    end();
}

TEST(a_shared_file_that_cannot_be_made_says_why_and_leaves_nothing)
{
    begin();
    ceni_shared_file file;
    int code = 0;
    unsigned n = 1;
    for (;; n++) {
        ceni_fault_arm(CENI_FAULT_FD | CENI_FAULT_MAP, n);
        cen_status status = ceni_shared_file_make(&file, path, 10000, &code);
        if (!ceni_fault_disarm()) break;
        expect_equal(status, CEN_SYSTEM);
        expect(code != 0);
        expect(rmdir(folder) == 0 && mkdir(folder, 0700) == 0);
    }
    expect_equal(n, 4);
    ceni_shared_file_discard(&file);
    char missing[96];
    snprintf(missing, sizeof missing, "%s/none/file", folder);
    expect_equal(ceni_shared_file_make(&file, missing, 10000, &code), CEN_SYSTEM);
    expect_equal(code, ENOENT);
    end();
}

TEST(only_regular_files_are_read_and_to_their_end)
{
    begin();
    int file, code = 0;
    size_t done;
    char bytes[20];
    expect_equal(ceni_file_open(&file, path, &code), CEN_SYSTEM);
    expect_equal(code, ENOENT);
    expect_equal(ceni_file_open(&file, folder, &code), CEN_SYSTEM);
    expect_equal(code, EISDIR);
    expect_equal(ceni_file_open(&file, "/dev/null", &code), CEN_SYSTEM);
    expect_equal(code, EINVAL);
    expect(ceni_file_is_special("/dev/null") && ceni_file_is_special(folder) && !ceni_file_is_special(path));
    ceni_shared_file shared = make();
    expect_equal(ceni_shared_file_name(&shared, path, old, &code), CEN_OK);
    expect(!ceni_file_is_special(path));
    expect_equal(ceni_file_open(&file, path, &code), CEN_OK);
    expect_equal(ceni_file_read(file, 9990, bytes, sizeof bytes, &done, &code), CEN_OK);
    expect_equal(done, 10);
    expect_equal(ceni_file_read(file, 10001, bytes, sizeof bytes, &done, &code), CEN_OK);
    expect_equal(done, 0);
    ceni_file_close(file);
    end();
}

TEST(the_clock_on_the_wall_is_that_of_the_system)
{
    time_t before = time(NULL);
    int64_t now = ceni_clock_wall();
    expect(now / 1000000000 >= before && now / 1000000000 <= time(NULL) + 1); /* time may be a tick behind */
}
