/* SPDX-License-Identifier: MIT */
#include "support/sized.h"

#include <sys/mman.h>
#include <unistd.h>

#include "support/test.h"

enum { GUARD = 0xa5, STALE = 0x5a, ROOM = 16384, LARGER = 40 };

typedef struct place {
    unsigned char *end;     /* what lies behind cannot be touched */
    unsigned char *struct_; /* where the struct of this turn begins, aligned */
    unsigned char before[ROOM];
} place;

static void place_make(place *p)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (ROOM + page - 1) / page * page;
    unsigned char *memory = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(memory != MAP_FAILED);
    p->end = memory + whole;
    expect_equal(mprotect(p->end, page, PROT_NONE), 0);
}

/* Lays out a struct of `size` bytes: as filled, or with what an earlier use has left; the tail is zero. */
static void lay(place *p, const sized_case *one, size_t size, size_t said)
{
    unsigned char full[ROOM] = {0};
    if (one->is_output) memset(full, STALE, one->known);
    if (one->fill) one->fill(full);
    memset(p->end - ROOM, GUARD, ROOM);
    p->struct_ = p->end - (size + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    memcpy(p->struct_, full, size);
    memcpy(p->struct_, &said, size < sizeof said ? size : sizeof said);
}

static cen_status call(place *p, const sized_case *one)
{
    memcpy(p->before, p->end - ROOM, ROOM);
    return one->call(p->struct_);
}

/* Of all the memory before the page, only the struct itself may have changed, if it is an output and was written. */
static void expect_unharmed(const place *p, const sized_case *one, size_t size, bool written)
{
    const unsigned char *memory = p->end - ROOM;
    size_t from = (size_t)(p->struct_ - memory), fields = from + sizeof(size_t), to = from + size;
    for (size_t i = 0; i < ROOM; i++) {
        bool may = one->is_output && written && i >= fields && i < to;
        if (memory[i] != p->before[i] && !may)
            test_fail(__FILE__, __LINE__, "%s of %zu bytes: the byte at offset %td was changed", one->name, size,
                      (ptrdiff_t)i - (ptrdiff_t)from);
    }
    if (!one->is_output || !written) return;
    for (size_t i = fields; i + sizeof(void *) <= to && i < from + one->known; i += sizeof(void *)) {
        size_t stale = 0;
        while (stale < sizeof(void *) && memory[i + stale] == STALE) stale++;
        if (stale == sizeof(void *))
            test_fail(__FILE__, __LINE__, "%s of %zu bytes: offset %zu was not written", one->name, size, i - from);
    }
}

static void expect_status(const place *p, const sized_case *one, size_t size, size_t said, cen_status expected)
{
    size_t kept;
    cen_status status = call((place *)(uintptr_t)p, one);
    if (status != expected)
        test_fail(__FILE__, __LINE__, "%s with a size of %zu: %s, expected %s", one->name, said,
                  cen_status_name(status), cen_status_name(expected));
    memcpy(&kept, p->struct_, sizeof kept);
    expect_equal(kept, said);
    expect_unharmed(p, one, size, status == CEN_OK);
}

void sized_try(const sized_case *one)
{
    static place p;
    if (!p.end) place_make(&p);
    expect(one->known + LARGER <= CEN_SIZED_MAX);
    for (size_t size = sizeof(size_t); size <= one->known; size++) {
        size_t whole = size - size % sizeof(void *); /* a field that is cut is not there */
        lay(&p, one, size, size);
        expect_status(&p, one, size, size, whole < one->least ? CEN_INVALID : CEN_OK);
    }
    for (size_t size = one->known + 1; size <= one->known + LARGER; size++) {
        lay(&p, one, size, size);
        expect_status(&p, one, size, size, CEN_OK);
        lay(&p, one, size, size);
        p.struct_[size - 1] = 1;
        expect_status(&p, one, size, size, CEN_INVALID);
    }
    const size_t wrong[] = {0, 1, sizeof(size_t) - 1, CEN_SIZED_MAX + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lay(&p, one, one->known, wrong[i]);
        expect_status(&p, one, one->known, wrong[i], CEN_INVALID);
    }
}

void sized_expect(const sized_shown *one)
{
    size_t seen = one->seen();
    if (seen != one->known)
        test_fail(__FILE__, __LINE__, "%s is shown with a size of %zu, not %zu", one->name, seen, one->known);
}
