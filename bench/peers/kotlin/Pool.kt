// SPDX-License-Identifier: MIT
// The published asynchronous pool's design in its own language, with coroutines:
// the pool is one actor with an unlimited mailbox, and a take is a future. It
// lends first what has been idle longest and serves first who has waited
// longest; a round of tests takes everything that is idle out at once. The
// library itself, jasync, is not in Debian; this is its pool and no more.
import java.util.ArrayDeque
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.ObsoleteCoroutinesApi
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.SendChannel
import kotlinx.coroutines.channels.actor
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

class Lent {
    val holder = AtomicInteger()
    var uses = 0L
    var lent = 0L
}

sealed class Message
class Take(val future: CompletableDeferred<Lent>) : Message()
class Give(val lent: Lent) : Message()
class Discard(val lent: Lent) : Message()
class Opened(val lent: Lent) : Message()
object Round : Message()

@UseExperimental(ObsoleteCoroutinesApi::class)
class Pool(private val size: Int, private val openMs: Long, private val testMs: Long, private val everyMs: Long) {
    private val idle = ArrayDeque<Lent>()
    private val waiting = ArrayDeque<CompletableDeferred<Lent>>()
    private var count = 0
    private var opening = 0
    private val opened = AtomicInteger()
    val closedUses = AtomicLong() // of objects that are no more

    private val mailbox: SendChannel<Message>

    init {
        while (openMs == 0L && count < size) {
            idle.add(open())
            count++
        }
        mailbox = GlobalScope.actor(capacity = Channel.UNLIMITED) { for (message in channel) handle(message) }
        if (testMs > 0) later(everyMs) { Round }
    }

    fun take(): CompletableDeferred<Lent> = CompletableDeferred<Lent>().also { mailbox.offer(Take(it)) }

    fun give(lent: Lent, discard: Boolean) {
        mailbox.offer(if (discard) Discard(lent) else Give(lent))
    }

    fun end() {
        mailbox.close()
    }

    private fun later(ms: Long, message: () -> Message) {
        GlobalScope.launch {
            delay(ms)
            if (!mailbox.isClosedForSend) mailbox.offer(message())
        }
    }

    private fun open(): Lent {
        if (opened.incrementAndGet() > size) fail("more objects were opened than the pool may have")
        return Lent()
    }

    private fun put(lent: Lent) {
        val first = waiting.poll()
        if (first == null) idle.add(lent) else first.complete(lent)
    }

    private fun handle(message: Message) {
        when (message) {
            is Take -> {
                val lent = idle.poll()
                if (lent == null) waiting.add(message.future) else message.future.complete(lent)
            }
            is Give -> put(message.lent)
            is Discard -> {
                closedUses.addAndGet(message.lent.uses)
                opened.decrementAndGet()
                count--
            }
            is Opened -> {
                opening--
                put(message.lent)
            }
            is Round -> {
                while (true) {
                    val lent = idle.poll() ?: break
                    later(testMs) { Give(lent) }
                }
                later(everyMs) { Round }
            }
        }
        while (count < size && opening < waiting.size) {
            count++
            opening++
            later(openMs) { Opened(open()) }
        }
    }
}
