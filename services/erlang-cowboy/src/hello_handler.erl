-module(hello_handler).
-behaviour(cowboy_handler).
-export([init/2]).

init(Req = #{method := Method}, State) when Method =:= <<"GET">>; Method =:= <<"HEAD">> ->
    {ok, cowboy_req:reply(200, #{<<"content-type">> => <<"text/plain">>}, <<"Hello, World!">>, Req), State};
init(Req, State) ->
    {ok, cowboy_req:reply(405, Req), State}.
