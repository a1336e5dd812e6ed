// SPDX-License-Identifier: MIT
// The clients of the Kotlin pool by the rules of rules/serve.h: coroutines on
// as many threads as the others have loops; times are whole milliseconds. The compiler needs seconds to see
// what is hot, so the same runs first for as long as warm=SECONDS says.
import java.io.File
import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicLongArray
import kotlin.system.exitProcess
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull

const val STEPS = 32 // of wait lengths, for each power of two

fun fail(text: String): Nothing {
    System.err.println(text)
    Runtime.getRuntime().halt(1)
    throw IllegalStateException(text)
}

class Plan(words: List<String>) {
    private val pairs = words.filter { '=' in it }.associate { it.substringBefore('=') to it.substringAfter('=') }
    private fun ms(name: String) = (pairs[name] ?: "0").toLong() / 1_000_000
    val clients = words[0].toInt()
    val size = words[1].toInt()
    val holdMs = words[2].toLong() / 1_000_000
    val seconds = words[3].toDouble()
    val thinkMs = ms("think")
    val openMs = ms("open")
    val testMs = ms("test")
    val everyMs = ms("every")
    val uses = (pairs["uses"] ?: "0").toLong()
    val stuck = "stuck" in words // client 0 keeps what it gets first
    val warm = (pairs["warm"] ?: "1").toDouble()
}

class Run(private val plan: Plan) {
    private val pool = Pool(plan.size, plan.openMs, plan.testMs, plan.everyMs)
    private val waits = AtomicLongArray(64 * STEPS)
    private val pairs = LongArray(plan.clients * 16) // one in each two cache lines
    private val longest = LongArray(plan.clients)
    @Volatile private var end = 0L // when the run was over

    private fun count(number: Int, ns: Long) {
        longest[number] = maxOf(longest[number], ns)
        val length = maxOf(ns, 1)
        val power = 63 - java.lang.Long.numberOfLeadingZeros(length)
        val step = if (power < 5) 0 else (length shr (power - 5)).toInt() and (STEPS - 1)
        waits.incrementAndGet(power * STEPS + step)
    }

    private suspend fun client(number: Int) {
        while (end == 0L) {
            val asked = System.nanoTime()
            val lent = pool.take().await()
            count(number, (if (end == 0L) System.nanoTime() else end) - asked)
            if (lent.holder.getAndSet(number + 1) != 0) fail("objects were shared: a client got one that another held")
            lent.uses++
            lent.lent++
            while (plan.stuck && number == 0 && end == 0L) delay(5)
            if (plan.holdMs > 0) delay(plan.holdMs)
            val discard = plan.uses > 0 && lent.lent >= plan.uses
            if (lent.holder.getAndSet(0) != number + 1) fail("objects were shared: one changed hands while a client held it")
            pool.give(lent, discard)
            if (end != 0L) return
            pairs[number * 16]++
            if (plan.thinkMs > 0) delay(plan.thinkMs)
        }
    }

    private fun percentileUs(part: Double): Double {
        val total = (0 until waits.length()).map { waits[it] }.sum()
        var seen = 0L
        for (length in 0 until waits.length()) {
            seen += waits[length]
            if (seen > 0 && seen >= part * total)
                return minOf((1L shl length / STEPS) * (1 + (length % STEPS + 1.0) / STEPS), longest.max()!!.toDouble()) / 1e3
        }
        return 0.0
    }

    /** Every object can be lent at once, and not one more. */
    private suspend fun callRoll() {
        val all = List(plan.size) { withTimeoutOrNull(5000) { pool.take().await() } ?: fail("not every object can be lent at once") }
        if (all.toSet().size != plan.size || withTimeoutOrNull(20) { pool.take().await() } != null)
            fail("the pool lends more objects than were put in")
        if (all.map { it.uses }.sum() + pool.closedUses.get() < pairs.sum()) fail("uses are missing")
        pool.end()
    }

    fun conduct(seconds: Double): String = runBlocking {
        val cpu = cpuSeconds()
        val start = System.nanoTime()
        val clients = List(plan.clients) { GlobalScope.launch { client(it) } }
        Thread.sleep((seconds * 1000).toLong())
        val spent = cpuSeconds() - cpu
        val status = status()
        end = System.nanoTime()
        val elapsed = end - start
        withTimeoutOrNull(5000) { clients.joinAll() } ?: fail("a take was never served: an object was lost")
        callRoll()
        val total = pairs.sum()
        val starved = (0 until plan.clients).count { pairs[it * 16] == 0L && !(plan.stuck && it == 0) }
        "pairs=%d ns=%.2f per_s=%.0f wait_p50_us=%.3f wait_p99_us=%.3f wait_max_us=%.3f starved=%d %s cpu_s=%.4f cpu_us=%.3f elapsed_ms=%.1f"
            .format(total, elapsed / total.toDouble(), total * 1e9 / elapsed, percentileUs(0.5), percentileUs(0.99),
                longest.max()!! / 1e3, starved, status, spent, 1e6 * spent / total, elapsed / 1e6)
    }
}

fun cpuSeconds() = (ManagementFactory.getOperatingSystemMXBean() as com.sun.management.OperatingSystemMXBean).processCpuTime / 1e9

fun status(): String {
    val lines = File("/proc/self/status").readLines().associate { it.substringBefore(':') to it.substringAfter(':').trim() }
    return "threads=%s rss_kib=%s".format(lines["Threads"], lines["VmRSS"]!!.substringBefore(' '))
}

fun heapBytes(): Long {
    System.gc()
    return Runtime.getRuntime().let { it.totalMemory() - it.freeMemory() }
}

/** What the heap holds for each take that waits; a resident set says little about a heap. */
fun pending(count: Int) = runBlocking {
    val pool = Pool(1, 0, 0, 0)
    val kept = pool.take().await()
    val before = heapBytes()
    val takes = Array(count) { pool.take() }
    delay(300)
    val bytes = (heapBytes() - before).toDouble() / count
    val start = System.nanoTime()
    pool.give(kept, false)
    for (take in takes) pool.give(take.await(), false)
    println("pending_bytes=%.1f request_bytes=0 serve_ns=%.1f".format(bytes, (System.nanoTime() - start).toDouble() / count))
}

fun main(args: Array<String>) {
    if (args.size == 2 && args[0] == "pending") {
        pending(args[1].toInt())
    } else {
        val plan = Plan(args.toList())
        if (plan.warm > 0) Run(plan).conduct(plan.warm)
        println(Run(plan).conduct(plan.seconds))
    }
    System.out.flush()
    exitProcess(0)
}
