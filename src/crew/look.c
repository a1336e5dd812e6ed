/* SPDX-License-Identifier: MIT */
/* A crew's statistics and metrics. */
#include "crew/internal.h"

static uint64_t read_count(_Atomic uint64_t *counter)
{
    return ceni_load_relaxed(counter); /* a number; carries nothing */
}

/* Counts of ends are read before counts of begins, so that no difference is negative. */
static void look(ceni_core *core, cen_crew_stats *out)
{
    uint32_t seats = ceni_setting(&core->seats);
    uint64_t waits = 0, resumed = 0;
    *out = (cen_crew_stats){.slow = read_count(&core->slow_count)};
    ceni_core_lock(core);
    out->finished = core->out_elsewhere;
    resumed = core->dropped_suspended;
    out->lost = core->lost;
    out->workers = core->target;
    out->threads = core->threads;
    out->idle = core->parked;
    out->blocked = core->blocked;
    out->is_stopped = ceni_load_relaxed(&core->closing) != 0; /* written under the mutex; carries nothing */
    ceni_core_unlock(core);
    for (uint32_t i = 0; i < seats; i++) {
        ceni_worker *worker = ceni_worker_at(core, i);
        out->finished += read_count(&worker->tasks_out);
        resumed += read_count(&worker->resumed);
    }
    for (uint32_t i = 0; i < core->injector.count; i++) resumed += read_count(&core->injector.shards[i].resumed);
    for (uint32_t i = 0; i < seats; i++) {
        ceni_worker *worker = ceni_worker_at(core, i);
        waits += read_count(&worker->waits);
        out->running += ceni_load_relaxed(&worker->depth); /* a number; carries nothing */
        out->stolen += read_count(&worker->stolen);
        out->steps += read_count(&worker->steps);
        out->submitted += read_count(&worker->tasks_in);
    }
    for (uint32_t i = 0; i < core->injector.count; i++) out->submitted += read_count(&core->injector.shards[i].tasks);
    uint64_t left = out->submitted > out->finished ? out->submitted - out->finished : 0;
    out->waiting = waits > resumed ? waits - resumed : 0;
    if (out->running > left) out->running = left;
    if (out->waiting > left - out->running) out->waiting = left - out->running;
    out->queued = left - out->running - out->waiting;
}

cen_status cen_crew_stats_get(cen_crew *crew, cen_crew_stats *out)
{
    cen_crew_stats now = CEN_SIZED(cen_crew_stats);
    if (!crew) return CEN_INVALID;
    cen_status status = cen_sized_check(out, sizeof now, "cen_crew_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_core *core = ceni_crew_core(crew, &status);
    if (!core) return status;
    look(core, &now);
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

size_t ceni_crew_snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_crew_stats s = CEN_SIZED(cen_crew_stats);
    if (cen_crew_stats_get((cen_crew *)(uintptr_t)object, &s) != CEN_OK) return 0;
    const cen_metric all[] = {
        {"submitted", (int64_t)s.submitted, CEN_COUNTER},
        {"finished", (int64_t)s.finished, CEN_COUNTER},
        {"queued", (int64_t)s.queued, CEN_GAUGE},
        {"running", (int64_t)s.running, CEN_GAUGE},
        {"waiting", (int64_t)s.waiting, CEN_GAUGE},
        {"steps", (int64_t)s.steps, CEN_COUNTER},
        {"stolen", (int64_t)s.stolen, CEN_COUNTER},
        {"slow", (int64_t)s.slow, CEN_COUNTER},
        {"lost", (int64_t)s.lost, CEN_COUNTER},
        {"workers", s.workers, CEN_GAUGE},
        {"threads", s.threads, CEN_GAUGE},
        {"idle", s.idle, CEN_GAUGE},
        {"blocked", s.blocked, CEN_GAUGE},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}
