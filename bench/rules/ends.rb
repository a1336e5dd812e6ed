# SPDX-License-Identifier: MIT
# The rules for programs in Ruby that ask a real server through a pool: those of ends.h, with the same words and answers.
#
# A contestant calls Ends.main("pq" => Make, "redis" => Make); Make.new(plan) answers an object with `open`, after which all
# connections are there, and `turn`, which asks once and answers when it had a connection, when it had the answer (both by
# Lend.now), and the answer as a string.
require_relative "lend"

module Ends
  RIGHT = { "pq" => "1", "redis" => "value" }.freeze
  WRONG = { "pq" => "2", "redis" => "other" }.freeze # a planted bug, BENCH_BROKEN=answer: the rules want another answer
  SLOT_NS = 25_000_000
  PAUSE_S = 0.02
  STUCK_NS = 5_000_000_000

  Plan = Struct.new(:kind, :host, :port, :threads, :connections, :seconds, :warm, :outage, :wanted) do
    def advised
      outage == "advised"
    end
  end
  Worker = Struct.new(:waits, :calls, :turns, :end)
  Sufferer = Struct.new(:ended, :began, :longest) # ended: [when, whether it was answered]; began 0: between two turns

  module_function

  def parse(words, kinds)
    unless [6, 7].include?(words.size) && kinds.include?(words[0])
      Lend.refuse("usage: #{kinds.join('|')} HOST PORT THREADS CONNECTIONS SECONDS [warm=SECONDS | outage=default|advised]")
    end
    plan = Plan.new(words[0], words[1], *words[2, 3].map { |word| Integer(word) }, Float(words[5]), 0.0)
    case words[6]
    when nil then nil
    when /\Awarm=([\d.]+)\z/ then plan.warm = Float($1)
    when /\Aoutage=(default|advised)\z/ then plan.outage = $1
    else Lend.refuse("#{words[6]} is none of: warm=SECONDS, outage=default, outage=advised")
    end
    plan.wanted = (ENV["BENCH_BROKEN"] == "answer" ? WRONG : RIGHT)[plan.kind]
    plan
  end

  # Threads that begin when all are there, with what the block answers then.
  def together(bodies)
    ready, go = Queue.new, Queue.new
    threads = bodies.map { |body| Thread.new { ready << 1; body.call(go.pop) } }
    bodies.size.times { ready.pop }
    start = yield
    bodies.size.times { go << start }
    threads
  end

  # ---- How quick -------------------------------------------------------------

  def turns(plan, contestant, deadline)
    waits, calls, turns = [], [], []
    asked = Lend.now
    loop do
      had, answered, answer = contestant.turn
      Lend.refuse("an answer was wrong: #{answer}") if answer != plan.wanted
      waits << had - asked
      calls << answered - had
      over = Lend.now
      turns << over - asked
      asked = over
      break if over >= deadline
    end
    Worker.new(waits, calls, turns, asked)
  rescue StandardError => e
    Lend.refuse("#{e.class}: #{e.message}")
  end

  def cpu_s
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  end

  # The workers, when they began, and the processor time that was used.
  def phase(plan, contestant, seconds)
    used = begin_ns = nil
    body = ->(deadline) { turns(plan, contestant, deadline) }
    threads = together([body] * plan.threads) do
      used, begin_ns = cpu_s, Lend.now
      begin_ns + (seconds * 1e9).to_i
    end
    [threads.map(&:value), begin_ns, cpu_s - used]
  end

  # The parts are percentiles by name.
  def microseconds(name, times, parts)
    parts.keys.zip(Lend.percentiles(times, parts.values)).map { |part, ns| format("%s_%s_us=%.1f", name, part, ns / 1e3) }
  end

  # What no more than the rest of the time that they took together was in longer ones than.
  def percentile_by_time(times, part)
    rest = (1 - part) * times.sum
    times.sort.reverse_each.find { |ns| (rest -= ns).negative? } || 0
  end

  def measure(plan, contestant)
    phase(plan, contestant, plan.warm) if plan.warm.positive?
    workers, begin_ns, used = phase(plan, contestant, plan.seconds)
    elapsed = workers.map(&:end).max - begin_ns
    waits, calls = workers.flat_map(&:waits), workers.flat_map(&:calls)
    words = [format("elapsed_ms=%.1f asked=%d per_s=%.1f", elapsed / 1e6, waits.size, waits.size / (elapsed / 1e9))]
    words += microseconds("wait", waits, { p50: 0.5, p99: 0.99, p999: 0.999 })
    words << format("wait_max_ms=%.3f", waits.max / 1e6)
    turns = workers.flat_map(&:turns)
    words << format("turn_p50_ms=%.4f turn_p99_ms=%.4f", *[0.5, 0.99].map { |part| percentile_by_time(turns, part) / 1e6 })
    words += microseconds("call", calls, { p50: 0.5, p99: 0.99 })
    smallest = workers.map { |worker| worker.waits.size }.min * plan.threads.fdiv(waits.size)
    puts([*words, format("cpu_s=%.3f smallest_share=%.3f", used, smallest)].join(" "))
  end

  # ---- An outage -------------------------------------------------------------

  def suffer(plan, contestant, worker)
    loop do
      worker.began = Lend.now
      right = begin
        contestant.turn[2] == plan.wanted
      rescue StandardError
        false
      end
      over = Lend.now
      worker.longest = [worker.longest, over - worker.began].max
      worker.ended << [over, right]
      worker.began = 0
      sleep(PAUSE_S)
    end
  end

  def slots_of(plan, workers, begin_ns)
    slots = Array.new((plan.seconds * 1e9).to_i / SLOT_NS) { [0, 0] }
    workers.flat_map { |worker| worker.ended.dup }.each do |over, right|
      slot = slots[(over - begin_ns) / SLOT_NS]
      slot[right ? 0 : 1] += 1 if slot
    end
    slots
  end

  def outage(plan, contestant)
    workers = Array.new(plan.threads) { Sufferer.new([], 0, 0) }
    begin_ns = nil
    together(workers.map { |worker| ->(_) { suffer(plan, contestant, worker) } }) do
      $stdout.puts("ready")
      $stdout.flush
      begin_ns = Lend.now
    end
    sleep([plan.seconds - (Lend.now - begin_ns) / 1e9, 0].max)
    now = Lend.now
    open_for = workers.map(&:began).reject(&:zero?).map { |began| now - began }
    slots = slots_of(plan, workers, begin_ns).each_with_index.map { |(right, wrong), i| "a#{i}=#{right} f#{i}=#{wrong}" }
    longest = [*workers.map(&:longest), *open_for].max
    puts(slots.join(" ") + format(" longest_ms=%.1f stuck=%d", longest / 1e6, open_for.count { |ns| ns > STUCK_NS }))
  end

  def main(makes)
    plan = parse(ARGV, makes.keys)
    begin
      contestant = makes[plan.kind].new(plan)
      contestant.open
    rescue StandardError => e
      Lend.refuse("#{e.class}: #{e.message}")
    end
    plan.outage ? outage(plan, contestant) : measure(plan, contestant)
    $stdout.flush
    exit!(0) # connections may wait for anything
  end
end
