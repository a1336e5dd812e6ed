# SPDX-License-Identifier: MIT
# Ruby's connection_pool by `with`, over connections of pg and clients of redis-rb with hiredis. pg by a prepared statement and by
# the sync form, which lets other threads run as the other does and is much quicker; exec, which its documentation prefers, is used
# in outages. Single threads starve for whole runs, so they wait longer than the pool's 5 s where a failure would end the program.
#
# For bad days: a wait for the pool, and limits for connecting, which pg makes 2 s at least, and for an answer, which pg has for
# those who send and wait by themselves. pg does not connect again by itself, it cannot reset a connection whose reset has failed,
# and this version of the pool cannot be told to forget one. So the pool lends slots, and the holder empties one that failed and
# fills an empty one; without a word from us nobody does, and a broken connection stays broken.
require "connection_pool"
require "hiredis"
require "pg"
require "redis"
require File.join(ENV.fetch("BENCH_RULES"), "ends")

# What both have in common; `connect` and `ask` are the difference.
class Contestant
  STARVING_S = 60

  def initialize(plan)
    @plan = plan
    limits = { nil => { timeout: STARVING_S }, "default" => {}, "advised" => { timeout: 1 } }[plan.outage]
    @pool = ConnectionPool.new(size: plan.connections, **limits) { connect }
  end

  # All at once, or the pool would lend the same again: each fiber is a holder of its own.
  def open
    holders = Array.new(@plan.connections) do
      Fiber.new { @pool.with { |connection| ask(connection); Fiber.yield } }
    end
    2.times { holders.each(&:resume) }
  end

  def turn
    had = answered = answer = nil
    @pool.with do |connection|
      had = Lend.now
      answer = ask(connection)
      answered = Lend.now
    end
    [had, answered, answer]
  end
end

class Postgres < Contestant
  Slot = Struct.new(:connection)

  def connect
    Slot.new(dial)
  end

  def dial
    limits = @plan.advised ? { connect_timeout: 1, options: "-c statement_timeout=2000", tcp_user_timeout: 2000 } : {}
    PG.connect(host: @plan.host, port: @plan.port, user: "tester", password: "secret", dbname: "test", **limits).tap do |made|
      made.prepare("one", "select 1") unless @plan.outage
    end
  end

  def ask(slot)
    case @plan.outage
    when nil then slot.connection.sync_exec_prepared("one", []) { |result| result.getvalue(0, 0) }
    when "default" then slot.connection.exec("select 1") { |result| result.getvalue(0, 0) }
    else ask_carefully(slot)
    end
  end

  def ask_carefully(slot)
    slot.connection ||= dial
    slot.connection.send_query("select 1")
    raise PG::ConnectionBad, "no answer" unless slot.connection.block(2.0)

    slot.connection.get_last_result.getvalue(0, 0)
  rescue PG::Error
    slot.connection&.finish
    slot.connection = nil
    raise
  end
end

class Cache < Contestant
  def connect
    limits = @plan.advised ? { connect_timeout: 1, read_timeout: 2, write_timeout: 2 } : {}
    Redis.new(host: @plan.host, port: @plan.port, password: "secret", driver: :hiredis, **limits)
  end

  def ask(connection)
    connection.get("cenote-bench")
  end
end

Ends.main("pq" => Postgres, "redis" => Cache)
