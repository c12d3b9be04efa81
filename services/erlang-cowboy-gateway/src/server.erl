%% A gateway to a language model with Cowboy and Gun.
-module(server).
-export([start/0]).

start() ->
    {ok, _} = application:ensure_all_started(cowboy),
    {ok, _} = application:ensure_all_started(gun),
    #{host := Host, path := Base} = Model = uri_string:parse(os:getenv("MODEL_URL")),
    ok = backend:start_link(Host, maps:get(port, Model, 80)),
    Authorization = iolist_to_binary(["Bearer ", os:getenv("MODEL_KEY", "")]),
    Route = fun(Path, Method) -> {["/v1", Path], gateway_handler, {Method, [Base, Path], Authorization}} end,
    Routes = [Route("/chat/completions", <<"POST">>), Route("/models", <<"GET">>)],
    {ok, Address} = inet:parse_address(os:getenv("HOST", "127.0.0.1")),
    Transport = #{
        %% 1024 by default; more connections would wait for others to end.
        max_connections => infinity,
        %% Thousands of connections may come at the same moment; 1024 is the default.
        socket_opts => [{ip, Address}, {port, list_to_integer(os:getenv("PORT", "8080"))}, {backlog, 4096}]
    },
    Protocol = #{
        env => #{dispatch => cowboy_router:compile([{'_', Routes}])},
        %% By default a connection is closed after 1000 requests.
        max_keepalive => 1000000000,
        %% 100 by default, Host among them.
        max_headers => 200,
        %% By default a connection without anything from the client for a minute is closed, also during a reply.
        idle_timeout => infinity
    },
    {ok, _} = cowboy:start_clear(http, Transport, Protocol).
