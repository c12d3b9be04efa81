-module(sequence_handler).
-behaviour(cowboy_handler).
-export([init/2, to_n/2]).

-define(LARGEST_N, 10000).

init(Req = #{method := Method}, Operation) when Method =:= <<"GET">>; Method =:= <<"HEAD">> ->
    Numbers = numbers(Operation, cowboy_req:binding(n, Req)),
    Body = lists:join($\s, [integer_to_binary(Number) || Number <- Numbers]),
    {ok, cowboy_req:reply(200, #{<<"content-type">> => <<"text/plain">>}, Body, Req), Operation};
init(Req, Operation) ->
    {ok, cowboy_req:reply(405, Req), Operation}.

%% The route matches integers from 0 to ?LARGEST_N alone; what else stands there is an unknown path.
to_n(forward, Text) ->
    case re:run(Text, "^[0-9]{1,5}$", [dollar_endonly]) =/= nomatch andalso binary_to_integer(Text) of
        N when is_integer(N), N =< ?LARGEST_N -> {ok, N};
        _ -> {error, not_n}
    end;
to_n(format_error, Error) ->
    Error.

numbers(count, N) -> lists:seq(1, N);
numbers(fib, N) -> fib(N, 0, 1).

fib(0, A, _) -> [A];
fib(N, A, B) -> [A | fib(N - 1, B, A + B)].
