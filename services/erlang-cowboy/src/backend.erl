%% The connections to the backend that are kept open.
-module(backend).
-behaviour(gen_server).
-export([start_link/2, take/0, open/0, give/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

start_link(Host, Port) -> gen_server:start_link({local, ?MODULE}, ?MODULE, {Host, Port}, []).

%% A connection that was kept, or a new one.
take() -> gen_server:call(?MODULE, take).

open() -> gen_server:call(?MODULE, open).

%% Gives a connection back, to be kept.
give(Connection) -> gen_server:cast(?MODULE, {give, Connection}).

init({Host, Port}) -> {ok, {Host, Port, []}}.

handle_call(take, _, {Host, Port, [Connection | Kept]}) -> {reply, {kept, Connection}, {Host, Port, Kept}};
handle_call(_, _, State = {Host, Port, _}) -> {reply, {new, connect(Host, Port)}, State}.

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
