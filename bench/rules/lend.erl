%% SPDX-License-Identifier: MIT
%% The rules of the pool benchmark for contestants in Erlang: those of lend.h, with the same words and answers.
%%
%% Threads are processes. Objects are the indexes of an array of numbers that are read and written, never added to in one step, so
%% that two holders of one object lose an increment or see the other's. Work is not lend.h's chain: a worker looks at the clock
%% until the time has passed. It sleeps whole milliseconds only, as the runtime does, whose 1 ms lasts up to two. A contestant calls
%% main(Make); Make(Size, Patience) fills the pool with the indexes from 1 to Size and answers {Take, Give, IndexOf}: Take()
%% answers a lease, or exits with {timeout, _} after Patience ms, which are those of the run and the 5 s of lend.h.
-module(lend).
-export([main/1]).

-define(VICTIM, 20).   %% which give goes wrong
-define(STEPS, 32).    %% of lengths.h
-record(plan, {threads, size, work_ns, time_ns, waits, asleep}).
-record(worker, {start, stop, pairs, clashes, longest, sum, counts}).

now_ns() -> erlang:monotonic_time(nanosecond).

refuse(Format, Arguments) ->
    io:format(standard_error, Format ++ "~n", Arguments),
    halt(1).

number(Text) ->
    case string:to_float(Text) of
        {error, no_float} -> float(list_to_integer(Text));
        {Number, []} -> Number
    end.

parse([Threads, Size, Work, Seconds | Flags]) ->
    [refuse("~s is none of: waits, asleep", [Flag]) || Flag <- Flags -- ["waits", "asleep"]],
    Plan = #plan{threads = list_to_integer(Threads), size = list_to_integer(Size), work_ns = list_to_integer(Work),
                 time_ns = trunc(number(Seconds) * 1.0e9), waits = lists:member("waits", Flags),
                 asleep = lists:member("asleep", Flags)},
    case Plan#plan.asleep andalso Plan#plan.work_ns rem 1000000 =/= 0 of
        true -> refuse("~s ns is not a whole number of milliseconds", [Work]);
        false -> Plan
    end;
parse(_) -> refuse("usage: THREADS SIZE WORK-NS SECONDS [waits] [asleep]", []).

%% ---- The run ---------------------------------------------------------------

spin(Until) ->
    case now_ns() < Until of
        true -> spin(Until);
        false -> ok
    end.

work(#plan{work_ns = 0}) -> ok;
work(#plan{asleep = true, work_ns = Ns}) -> timer:sleep(Ns div 1000000);
work(#plan{work_ns = Ns}) -> spin(now_ns() + Ns).

take(#plan{waits = false}, Take, Worker) -> {Take(), Worker};
take(_, Take, Worker = #worker{counts = Counts, longest = Longest, sum = Sum}) ->
    Asked = now_ns(),
    Lease = Take(),
    Waited = now_ns() - Asked,
    counters:add(Counts, length_of(Waited) + 1, 1),
    {Lease, Worker#worker{longest = max(Longest, Waited), sum = Sum + Waited}}.

turns(Plan, Pool = {Take, Give, IndexOf}, Objects, Until, Before) ->
    {Lease, Worker = #worker{pairs = Pairs, clashes = Clashes}} = take(Plan, Take, Before),
    Index = IndexOf(Lease),
    Uses = atomics:get(Objects, Index) + 1,
    atomics:put(Objects, Index, Uses),
    work(Plan),
    Seen = atomics:get(Objects, Index),
    Give(Lease),
    After = Worker#worker{pairs = Pairs + 1, clashes = if Seen =:= Uses -> Clashes; true -> Clashes + 1 end},
    case now_ns() >= Until of
        true -> After#worker{stop = now_ns()};
        false -> turns(Plan, Pool, Objects, Until, After)
    end.

body(Plan, Pool, Objects, Main) ->
    Main ! ready,
    Counts = if Plan#plan.waits -> counters:new(64 * ?STEPS, []); true -> none end,
    Until = receive {go, Time} -> Time end,
    Worker = #worker{start = now_ns(), pairs = 0, clashes = 0, longest = 0, sum = 0, counts = Counts},
    try turns(Plan, Pool, Objects, Until, Worker) of
        Done ->
            Main ! {done, Done},
            receive never -> ok end  %% a pool may give back by itself what belonged to a process that has ended
    catch
        exit:{timeout, _} -> refuse("a take waited too long", [])
    end.

%% What each of them answers, and the processor time in ms.
run(Plan, Pool, Objects) ->
    Main = self(),
    Pids = [spawn_link(fun() -> body(Plan, Pool, Objects, Main) end) || _ <- lists:seq(1, Plan#plan.threads)],
    [receive ready -> ok end || _ <- Pids],
    {Before, _} = statistics(runtime),
    Until = now_ns() + Plan#plan.time_ns,
    [Pid ! {go, Until} || Pid <- Pids],
    Workers = [receive {done, Worker} -> Worker end || _ <- Pids],
    {After, _} = statistics(runtime),
    {Workers, After - Before}.

%% Takes every object, to see that each is there once. Whoever wants one more then must wait.
check_all_there(#plan{size = Size}, {Take, _, IndexOf}) ->
    Seen = atomics:new(Size, []),
    try [case atomics:add_get(Seen, Index, 1) of
             1 -> ok;
             _ -> refuse("the pool lends object ~b twice", [Index])
         end || Index <- [IndexOf(Take()) || _ <- lists:seq(1, Size)]]
    catch
        exit:{timeout, _} -> refuse("a take waited too long: an object is lost", [])
    end,
    Main = self(),
    spawn(fun() -> Main ! asked, Main ! {more, catch Take()} end),
    receive asked -> ok end,
    receive {more, _} -> refuse("the pool lends more objects than were put in", []) after 5 -> ok end.

%% ---- Planted bugs ----------------------------------------------------------

%% share: everybody holds the first object; lose: a give is forgotten; more: when all are lent, the last is lent again.
plant(false, Pool, _) -> Pool;
plant("share", {Take, Give, _}, _) -> {Take, Give, fun(_) -> 1 end};
plant("lose", {Take, Give, IndexOf}, _) ->
    Gives = atomics:new(1, []),
    {Take, fun(Lease) ->
               case atomics:add_get(Gives, 1, 1) of
                   ?VICTIM -> ok;
                   _ -> Give(Lease)
               end
           end, IndexOf};
plant("more", {Take, Give, IndexOf}, #plan{size = Size}) ->
    Lent = counters:new(1, []),
    {fun() ->
         case counters:get(Lent, 1) of
             Size -> last;
             _ -> counters:add(Lent, 1, 1), Take()
         end
     end, fun(Lease) -> counters:sub(Lent, 1, 1), Give(Lease) end, IndexOf};
plant(_, _, _) -> refuse("BENCH_BROKEN is none of: share, lose, more", []).

%% ---- The answer ------------------------------------------------------------

length_of(Ns) ->
    <<_:1, Exponent:11, Step:5, _:47>> = <<(float(max(Ns, 1))):64/float>>,
    (Exponent - 1023) * ?STEPS + Step.

length_end(Length) -> (1 bsl (Length div ?STEPS)) * (1 + (Length rem ?STEPS + 1) / ?STEPS).

%% By lengths, as the others have them: ns.
percentile(Workers, Pairs, Part) -> percentile(Workers, Part * Pairs, 0, 0).

percentile(Workers, Wanted, Length, Before) ->
    Running = Before + lists:sum([counters:get(W#worker.counts, Length + 1) || W <- Workers]),
    if Running > Wanted -> length_end(Length);
       true -> percentile(Workers, Wanted, Length + 1, Running)
    end.

print_waits(Workers, Pairs) ->
    Longest = lists:max([W#worker.longest || W <- Workers]),
    [P50, P99] = [min(percentile(Workers, Pairs, Part), Longest) || Part <- [0.5, 0.99]],
    io:format("wait_p50_us=~.3f wait_p99_us=~.3f wait_max_ms=~.3f wait_mean_us=~.3f ",
              [P50 / 1.0e3, P99 / 1.0e3, Longest / 1.0e6, lists:sum([W#worker.sum || W <- Workers]) / Pairs / 1.0e3]).

judge(Plan, Workers, Objects, CpuMs) ->
    Shares = [W#worker.pairs || W <- Workers],
    Pairs = lists:sum(Shares),
    Clashes = lists:sum([W#worker.clashes || W <- Workers]),
    Uses = lists:sum([atomics:get(Objects, Index) || Index <- lists:seq(1, Plan#plan.size)]),
    if Uses =/= Pairs; Clashes =/= 0 ->
            refuse("objects were shared: ~b uses in ~b pairs, ~b seen by their holder", [Uses, Pairs, Clashes]);
       true -> ok
    end,
    Elapsed = lists:max([W#worker.stop || W <- Workers]) - lists:min([W#worker.start || W <- Workers]),
    Mean = Pairs / Plan#plan.threads,
    fun() ->
        io:format("ns=~.2f smallest_share=~.3f largest_share=~.3f ",
                  [Elapsed / Pairs, lists:min(Shares) / Mean, lists:max(Shares) / Mean]),
        Plan#plan.waits andalso print_waits(Workers, Pairs),
        io:format("pairs=~b elapsed_ms=~.1f cpus=~.2f~n", [Pairs, Elapsed / 1.0e6, CpuMs * 1.0e6 / Elapsed])
    end.

main(Make) ->
    Plan = parse(init:get_plain_arguments()),
    Broken = os:getenv("BENCH_BROKEN"),
    Patience = if Broken =:= false -> 5000 + Plan#plan.time_ns div 1000000; true -> 300 end,
    Pool = plant(Broken, Make(Plan#plan.size, Patience), Plan),
    Objects = atomics:new(Plan#plan.size, []),
    {Workers, CpuMs} = run(Plan, Pool, Objects),
    Print = judge(Plan, Workers, Objects, CpuMs),
    check_all_there(Plan, Pool),
    Print(),
    halt(0).
