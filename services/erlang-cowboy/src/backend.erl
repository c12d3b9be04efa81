%% The connections to the backend that are kept open: a pool for each scheduler, so that schedulers do not wait for each other.
-module(backend).
-behaviour(gen_server).
-export([start_link/2, take/0, renew/1, give/1, close/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link(Host, Port) ->
    Start = fun(_) ->
        {ok, Pool} = gen_server:start_link(?MODULE, {Host, Port}, []),
        Pool
    end,
    Pools = lists:map(Start, lists:seq(1, erlang:system_info(schedulers))),
    persistent_term:put(?MODULE, list_to_tuple(Pools)).

%% A connection that was kept, or a new one, out of the pool of the scheduler that asks.
take() ->
    Pool = element(erlang:system_info(scheduler_id), persistent_term:get(?MODULE)),
    {Age, Connection} = gen_server:call(Pool, take),
    {Age, {Pool, Connection}}.

%% A new connection in place of one that was closed.
renew({Pool, _}) -> {new, {Pool, gen_server:call(Pool, open)}}.

%% Gives a connection back, to be kept.
give({Pool, Connection}) -> gen_server:cast(Pool, {give, Connection}).

close({_, Connection}) -> gun:close(Connection).

init({Host, Port}) -> {ok, {Host, Port, []}}.

handle_call(take, _, {Host, Port, [Connection | Kept]}) -> {reply, {kept, Connection}, {Host, Port, Kept}};
handle_call(take, _, State = {Host, Port, []}) -> {reply, {new, connect(Host, Port)}, State};
handle_call(open, _, State = {Host, Port, _}) -> {reply, connect(Host, Port), State}.

handle_cast({give, Connection}, {Host, Port, Kept}) -> {noreply, {Host, Port, [Connection | Kept]}}.

handle_info({'DOWN', _, process, Connection, _}, {Host, Port, Kept}) ->
    {noreply, {Host, Port, lists:delete(Connection, Kept)}};
handle_info(_, State) ->
    {noreply, State}.

connect(Host, Port) ->
    {ok, Connection} = gun:open(Host, Port, #{
        protocols => [http],
        %% A connection that is closed is over; who needs one opens another.
        retry => 0,
        transport_opts => [{nodelay, true}],
        %% By default Gun sends an empty line now and then.
        http_opts => #{keepalive => infinity}
    }),
    monitor(process, Connection),
    Connection.
