%% A server with Cowboy.
-module(server).
-export([start/0]).

start() ->
    {ok, _} = application:ensure_all_started(cowboy),
    {ok, Address} = inet:parse_address(os:getenv("HOST", "127.0.0.1")),
    Port = list_to_integer(os:getenv("PORT", "8080")),
    Protocol = #{
        env => #{dispatch => cowboy_router:compile([{'_', routes(os:getenv("BACKEND_URL"))}])},
        %% By default a connection is closed after 1000 requests.
        max_keepalive => 1000000000,
        %% 100 by default, Host among them.
        max_headers => 200,
        %% By default an HTTP/2 connection is closed after 10,000 frames in ten seconds.
        max_received_frame_rate => {1000000000, 10000}
    },
    {ok, _} = cowboy:start_clear(http, transport(Address, Port, []), Protocol),
    start_tls(os:getenv("TLS_PORT"), Address, Protocol).

%% HTTP/2 or HTTP/1.1, as the client prefers.
start_tls(false, _, _) ->
    ok;
start_tls(Port, Address, Protocol) ->
    Identity = [{certfile, os:getenv("TLS_CERT")}, {keyfile, os:getenv("TLS_KEY")}],
    {ok, _} = cowboy:start_tls(https, transport(Address, list_to_integer(Port), Identity), Protocol).

transport(Address, Port, Options) ->
    #{
        %% 1024 by default; more connections would wait for others to end.
        max_connections => infinity,
        %% Thousands of connections may come at the same moment; 1024 is the default.
        socket_opts => [{ip, Address}, {port, Port}, {backlog, 4096} | Options]
    }.

routes(false) ->
    [
        {"/api/test", hello_handler, []},
        {"/api/count/:n", [{n, fun sequence_handler:to_n/2}], sequence_handler, count},
        {"/api/fib/:n", [{n, fun sequence_handler:to_n/2}], sequence_handler, fib}
    ];
routes(Backend) ->
    {ok, _} = application:ensure_all_started(gun),
    #{host := Host} = Url = uri_string:parse(Backend),
    ok = backend:start_link(Host, maps:get(port, Url, 80)),
    [{"/nop", nop_handler, []} | routes(false)] ++ [{'_', relay_handler, []}].
