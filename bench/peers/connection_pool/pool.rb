# SPDX-License-Identifier: MIT
# Ruby's connection_pool by checkout and checkin, with Ruby's compiler on. Its documentation shows `with`, which is those two and
# two calls more, so that no other thread can interrupt it in between: two and a half times the processor time. It makes an object
# when all that it has made are lent; here that is to take the next of an array, so there is nothing to make before the start. The
# last given is lent first.
require "connection_pool"
require File.join(ENV.fetch("BENCH_RULES"), "lend")

class Pool < ConnectionPool
  def with
    lent = checkout
    begin
      yield lent
    ensure
      checkin
    end
  end

  # A thread that has one gets the same again. The pool knows it by a variable of the thread, which each fiber has for itself.
  def take
    Fiber.new { checkout }.resume
  end
end

Lend.main do |plan|
  made = -1
  Pool.new(size: plan.size, timeout: plan.patience_s) { plan.objects.fetch(made += 1) }
end
