%% SPDX-License-Identifier: MIT
%% poolboy by checkout and checkin, as its documentation shows. All workers are made at the start, and there are never more. A
%% worker is a process that has nothing to do here; which object it stands for is looked up in a map that all processes share. The
%% last given is lent first, which is poolboy's default.
-module(pool).
-behaviour(gen_server).
-behaviour(poolboy_worker).
-export([start/0, start_link/1, init/1, handle_call/3, handle_cast/2]).

start_link(Numbers) -> gen_server:start_link(?MODULE, Numbers, []).

init(Numbers) ->
    counters:add(Numbers, 1, 1),  %% poolboy starts one after the other
    {ok, counters:get(Numbers, 1)}.

handle_call(number, _, Number) -> {reply, Number, Number}.

handle_cast(_, Number) -> {noreply, Number}.

make(Size, Patience) ->
    {ok, Pool} = poolboy:start_link([{worker_module, ?MODULE}, {size, Size}, {max_overflow, 0}], counters:new(1, [])),
    Workers = [poolboy:checkout(Pool, true, Patience) || _ <- lists:seq(1, Size)],
    persistent_term:put(?MODULE, maps:from_list([{Worker, gen_server:call(Worker, number)} || Worker <- Workers])),
    [poolboy:checkin(Pool, Worker) || Worker <- Workers],
    {ready, Size, 0, 0} = poolboy:status(Pool),  %% answered when all of them are in
    {fun() -> poolboy:checkout(Pool, true, Patience) end,
     fun(Worker) -> poolboy:checkin(Pool, Worker) end,
     fun(Worker) -> map_get(Worker, persistent_term:get(?MODULE)) end}.

start() -> lend:main(fun make/2).
