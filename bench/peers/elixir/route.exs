# SPDX-License-Identifier: MIT
# The original: members are processes in a Registry under one key. A caller looks all of them up and takes a random one,
# or the next by a counter in an ETS table that all callers share.
#
#     elixir route.exs random|turn MEMBERS CALLERS SECONDS WARM-UP-SECONDS
#
# Callers are processes that begin together and look at the clock once a batch. The rules are those of rules/picks.h.

defmodule Route do
  @threshold 1_000_000_000

  def start(members) do
    {:ok, _} = Registry.start_link(keys: :duplicate, name: Members)
    :ets.new(:turns, [:public, :named_table, write_concurrency: true])
    :ets.insert(:turns, {:turn, -1})
    main = self()

    for index <- 0..(members - 1) do
      spawn_link(fn ->
        {:ok, _} = Registry.register(Members, :members, index)
        send(main, :registered)
        Process.sleep(:infinity)
      end)
    end

    for _ <- 1..members, do: receive(do: (:registered -> :ok))
  end

  def pick("random"), do: Enum.random(Registry.lookup(Members, :members))

  def pick("turn") do
    members = Registry.lookup(Members, :members)
    turn = :ets.update_counter(:turns, :turn, {2, 1, @threshold, 0})
    Enum.at(members, rem(turn, length(members)))
  end

  def batch(_, 0), do: :ok

  def batch(kind, count) do
    pick(kind)
    batch(kind, count - 1)
  end

  def run(kind, size, until, picks) do
    batch(kind, size)
    now = :erlang.monotonic_time(:nanosecond)
    if now < until, do: run(kind, size, until, picks + size), else: {now, picks + size}
  end

  # Answers what each of them answered.
  def together(callers, body) do
    main = self()

    all =
      for _ <- 1..callers do
        spawn_link(fn ->
          send(main, :ready)
          receive(do: (:go -> send(main, {:answer, body.()})))
        end)
      end

    for _ <- all, do: receive(do: (:ready -> :ok))
    for caller <- all, do: send(caller, :go)
    for _ <- all, do: receive(do: ({:answer, answer} -> answer))
  end

  def window(kind, callers, size, seconds) do
    answers =
      together(callers, fn ->
        start = :erlang.monotonic_time(:nanosecond)
        {stop, picks} = run(kind, size, start + round(seconds * 1.0e9), 0)
        {start, stop, picks}
      end)

    elapsed = Enum.max(Enum.map(answers, &elem(&1, 1))) - Enum.min(Enum.map(answers, &elem(&1, 0)))
    picks = Enum.sum(Enum.map(answers, &elem(&1, 2)))
    slowest = Enum.max(Enum.map(answers, fn {start, stop, picks} -> (stop - start) / picks end))
    {elapsed, elapsed * callers / picks, slowest}
  end

  # Every member as often as the others, exactly or within what chance allows; with many members the picks are too slow
  # for that, and it is only seen to that they are members.
  def check(kind, members, callers) do
    picks = if members > 100, do: min(100, div(1_000_000, members)), else: 200 * members

    counts =
      together(callers, fn -> for _ <- 1..picks, do: elem(pick(kind), 1) end)
      |> Enum.concat()
      |> Enum.frequencies()

    wanted = picks * callers / members
    limit = if kind == "random", do: 6.5 * :math.sqrt(wanted), else: 0

    for {index, count} <- counts do
      unless index in 0..(members - 1), do: refuse("#{index} is no member")
      if members <= 100 and abs(count - wanted) > limit, do: refuse("member #{index} was picked #{count} times")
    end

    if members <= 100 and map_size(counts) != members, do: refuse("a member was never picked")
  end

  def refuse(text) do
    IO.puts(:stderr, text)
    System.halt(1)
  end
end

[kind, members, callers, seconds, warm] = System.argv()
[members, callers] = Enum.map([members, callers], &String.to_integer/1)
[seconds, warm] = Enum.map([seconds, warm], fn text -> elem(Float.parse(text), 0) end)
Route.start(members)
Route.check(kind, members, callers)
size = max(1, div(20_000, members))
Route.window(kind, callers, size, warm)
{elapsed, ns, slowest} = Route.window(kind, callers, size, seconds)
IO.puts("elapsed_ms=#{elapsed / 1.0e6} ns=#{ns} slowest=#{slowest}")
