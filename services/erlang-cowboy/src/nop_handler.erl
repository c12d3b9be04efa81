%% What the relay answers itself; anything else but GET is relayed.
-module(nop_handler).
-behaviour(cowboy_handler).
-export([init/2]).

init(Req = #{method := Method}, State) when Method =:= <<"GET">>; Method =:= <<"HEAD">> ->
    {ok, cowboy_req:reply(200, #{<<"content-type">> => <<"text/plain">>}, <<"OK">>, Req), State};
init(Req, State) ->
    relay_handler:init(Req, State).
