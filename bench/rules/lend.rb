# SPDX-License-Identifier: MIT
# The rules of the pool benchmark for contestants in Ruby: those of lend.h, with the same words and answers.
#
# Work is not lend.h's chain, which an interpreter would be many times slower at: a worker looks at the clock until the time has
# passed. Each worker also looks at the clock to see whether the run is over, because one thread that was to say so might not get
# its turn in time. A contestant calls Lend.main, whose block answers a pool of plan.objects: `with { |object| ... }` lends for the
# time of the block, `take` lends for good, in whatever thread.
module Lend
  BROKEN = ENV.fetch("BENCH_BROKEN", "") # a planted bug: share, lose, more
  VICTIM = 20                            # after so many turns it goes wrong
  STEPS = 32                             # of lengths.h

  Lent = Struct.new(:uses, :index)
  Plan = Struct.new(:threads, :size, :work_ns, :time_ns, :waits, :asleep, :objects) do
    # A take waits no longer, and raises Timeout::Error. Not the 5 s of lend.h, because there are pools that let single threads
    # starve for a whole run.
    def patience_s
      BROKEN.empty? ? 5 + time_ns / 1e9 : 0.3
    end
  end
  Worker = Struct.new(:pairs, :clashes, :start, :end, :waited)

  module_function

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end

  def refuse(text)
    warn text
    exit!(1) # other workers may be in the middle of anything
  end

  def parse(words)
    refuse("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep]") if words.size < 4
    flags = words[4..]
    (flags - %w[waits asleep]).each { |word| refuse("#{word} is none of: waits, asleep") }
    threads, size, work_ns = words.first(3).map { |word| Integer(word) }
    objects = Array.new(size) { |index| Lent.new(0, index) }
    Plan.new(threads, size, work_ns, (Float(words[3]) * 1e9).to_i, flags.include?("waits"), flags.include?("asleep"), objects)
  end

  # ---- The run ---------------------------------------------------------------

  def work(plan)
    return sleep(plan.work_ns / 1e9) if plan.asleep

    deadline = now + plan.work_ns
    nil while now < deadline
  end

  def turns(plan, pool, worker, deadline)
    waits, work_ns, waited = plan.waits, plan.work_ns, worker.waited
    pairs = clashes = 0
    worker.start = now
    loop do
      asked = now if waits
      pool.with do |lent|
        waited << now - asked if waits
        uses = lent.uses += 1
        work(plan) if work_ns != 0
        clashes += 1 if lent.uses != uses
      end
      pairs += 1
      break if now >= deadline
    end
    worker.end = now
    worker.pairs = pairs
    worker.clashes = clashes
  end

  def body(plan, pool, worker, deadline)
    turns(plan, pool, worker, deadline)
  rescue Timeout::Error
    refuse("a take waited too long")
  rescue StandardError => e
    refuse("#{e.class}: #{e.message}")
  end

  # The workers, and the processor time that they used.
  def run(plan, pool)
    workers = Array.new(plan.threads) { Worker.new(0, 0, 0, 0, []) }
    ready, go = Queue.new, Queue.new
    threads = workers.map { |worker| Thread.new { ready << 1; body(plan, pool, worker, go.pop) } }
    plan.threads.times { ready.pop }
    used = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    deadline = now + plan.time_ns
    plan.threads.times { go << deadline }
    threads.each(&:join)
    [workers, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - used]
  end

  # Takes every object, to see that each is there once. Whoever wants one more then must wait.
  def check_all_there(plan, pool)
    seen = {}
    plan.size.times do
      index = pool.take.index
      refuse("the pool lends object #{index} twice") if seen[index]
      seen[index] = true
    end
    asked, more = Queue.new, Queue.new
    Thread.new do
      asked << 1
      more << pool.take
    rescue Timeout::Error
      nil
    end
    asked.pop
    sleep(0.005)
    refuse("the pool lends more objects than were put in") unless more.empty?
  rescue Timeout::Error
    refuse("a take waited too long: an object is lost")
  end

  # ---- Planted bugs ----------------------------------------------------------

  # share: everybody holds the first object; lose: one is taken and forgotten; more: when all are lent, the last is lent again.
  class Broken
    def initialize(plan, pool)
      Lend.refuse("BENCH_BROKEN is none of: share, lose, more") unless %w[share lose more].include?(BROKEN)
      @plan, @pool, @turns, @taken = plan, pool, 0, []
    end

    def with
      @turns += 1
      @lost ||= @pool.take if BROKEN == "lose" && @turns > VICTIM
      @pool.with { |lent| yield BROKEN == "share" ? @plan.objects[0] : lent }
    end

    def take
      return @taken.last if BROKEN == "more" && @taken.size == @plan.size

      @taken << @pool.take
      BROKEN == "share" ? @plan.objects[0] : @taken.last
    end
  end

  # ---- The answer ------------------------------------------------------------

  def length_of(nanoseconds)
    length = [nanoseconds, 1].max
    power = length.bit_length - 1
    power * STEPS + ((length << 5 >> power) & (STEPS - 1))
  end

  def length_end(length)
    (1 << length / STEPS) * (1 + (length % STEPS + 1).fdiv(STEPS))
  end

  # By lengths, as the others have them: ns for each part.
  def percentiles(times, parts)
    counts = Array.new(64 * STEPS, 0)
    times.each { |time| counts[length_of(time)] += 1 }
    parts.map do |part|
      running = 0
      length = counts.index { |count| (running += count) > part * times.size }
      [length_end(length), times.max].min
    end
  end

  def waits_of(waited)
    p50, p99 = percentiles(waited, [0.5, 0.99])
    format("wait_p50_us=%.3f wait_p99_us=%.3f wait_max_ms=%.3f wait_mean_us=%.3f ",
           p50 / 1e3, p99 / 1e3, waited.max / 1e6, waited.sum / 1e3 / waited.size)
  end

  def main
    plan = parse(ARGV)
    pool = yield plan
    pool = Broken.new(plan, pool) unless BROKEN.empty?
    workers, cpu_s = run(plan, pool)
    pairs, clashes, uses = workers.sum(&:pairs), workers.sum(&:clashes), plan.objects.sum(&:uses)
    if uses != pairs || clashes != 0
      refuse("objects were shared: #{uses} uses in #{pairs} pairs, #{clashes} seen by their holder")
    end
    check_all_there(plan, pool)
    elapsed = workers.map(&:end).max - workers.map(&:start).min
    shares = workers.map(&:pairs).minmax.map { |share| share * plan.threads.fdiv(pairs) }
    print(format("ns=%.2f smallest_share=%.3f largest_share=%.3f ", elapsed.fdiv(pairs), *shares))
    print(waits_of(workers.flat_map(&:waited))) if plan.waits
    puts(format("pairs=%d elapsed_ms=%.1f cpus=%.2f", pairs, elapsed / 1e6, cpu_s / (elapsed / 1e9)))
    $stdout.flush
    exit!(0) # somebody may be waiting for one more object
  end
end
