%% The JSON filter: messages go to the backend, but for those that are dropped or are no JSON.
-module(relay_handler).
-behaviour(cowboy_handler).
-export([init/2]).

-define(LARGEST_BODY, 16777216).
-define(BACKEND_LIMIT, 10000).

init(Req0, State) ->
    Req =
        case read_body(Req0, []) of
            {ok, Body, Req1} -> filter(decide(Req1, Body), Body, Req1);
            {too_large, Req1} -> answer(413, Req1)
        end,
    {ok, Req, State}.

read_body(Req0, Pieces) ->
    case iolist_size(Pieces) =< ?LARGEST_BODY andalso cowboy_req:read_body(Req0) of
        false -> {too_large, Req0};
        {ok, Piece, Req} -> {ok, iolist_to_binary([Pieces, Piece]), Req};
        {more, Piece, Req} -> read_body(Req, [Pieces, Piece])
    end.

decide(Req, Body) ->
    case is_json(cowboy_req:header(<<"content-type">>, Req, <<>>)) of
        false -> relay;
        true -> decide_message(Body)
    end.

decide_message(Body) ->
    try jiffy:decode(Body, [return_maps]) of
        #{<<"drop">> := true} -> drop;
        _ -> relay
    catch
        _:_ -> broken
    end.

is_json(ContentType) ->
    [Kind | _] = binary:split(ContentType, <<";">>),
    string:lowercase(string:trim(Kind)) =:= <<"application/json">>.

filter(drop, _, Req) -> cowboy_req:reply(204, Req);
filter(broken, _, Req) -> answer(400, Req);
filter(relay, Body, Req) -> relay(backend:take(), Body, Req).

relay({Age, Kept = {_, Connection}}, Body, Req = #{method := Method}) ->
    Stream = gun:request(Connection, Method, target(Req), to_backend(Req), Body, #{reply_to => self()}),
    case await(Connection, Stream) of
        {error, timeout} ->
            backend:close(Kept),
            answer(504, Req);
        {error, _} when Age =:= kept ->
            %% The backend may close a kept connection in the moment in which it is used.
            relay(backend:renew(Kept), Body, Req);
        {error, _} ->
            answer(502, Req);
        {response, fin, Status, Headers} ->
            backend:give(Kept),
            cowboy_req:reply(Status, from_backend(Headers), Req);
        {response, nofin, Status, Headers} ->
            pass_body(Kept, Stream, cowboy_req:stream_reply(Status, from_backend(Headers), Req))
    end.

await(Connection, Stream) ->
    case gun:await(Connection, Stream, ?BACKEND_LIMIT) of
        {inform, _, _} -> await(Connection, Stream);
        Answer -> Answer
    end.

pass_body(Kept = {_, Connection}, Stream, Req) ->
    case gun:await(Connection, Stream, ?BACKEND_LIMIT) of
        {data, nofin, Piece} ->
            cowboy_req:stream_body(Piece, nofin, Req),
            pass_body(Kept, Stream, Req);
        {data, fin, Piece} ->
            cowboy_req:stream_body(Piece, fin, Req),
            backend:give(Kept),
            Req;
        {trailers, _} ->
            cowboy_req:stream_body(<<>>, fin, Req),
            backend:give(Kept),
            Req;
        {error, _} ->
            %% Half a reply must not look like a whole one: the end of this process closes the connection.
            backend:close(Kept),
            exit({shutdown, half_a_reply})
    end.

target(#{path := Path, qs := <<>>}) -> Path;
target(#{path := Path, qs := Query}) -> [Path, $?, Query].

to_backend(Req) ->
    maps:to_list(maps:remove(<<"content-length">>, end_to_end(cowboy_req:headers(Req)))).

%% Cowboy takes a map: what is there twice is joined, but for cookies, which it writes one by one.
from_backend(Headers) ->
    Add = fun
        ({<<"set-cookie">>, Value}, Map) ->
            Map#{<<"set-cookie">> => maps:get(<<"set-cookie">>, Map, []) ++ [Value]};
        ({Name, Value}, Map) when is_map_key(Name, Map) -> Map#{Name => [maps:get(Name, Map), <<", ">>, Value]};
        ({Name, Value}, Map) -> Map#{Name => Value}
    end,
    end_to_end(lists:foldl(Add, #{}, Headers)).

%% Without the headers of one connection alone (RFC 9110, 7.6.1).
end_to_end(Headers) ->
    Connection = iolist_to_binary(maps:get(<<"connection">>, Headers, <<>>)),
    Named = [string:trim(Name) || Name <- string:lexemes(string:lowercase(Connection), ",")],
    maps:without(Named ++ hop_by_hop(), Headers).

hop_by_hop() ->
    [
        <<"connection">>,
        <<"keep-alive">>,
        <<"proxy-connection">>,
        <<"te">>,
        <<"trailer">>,
        <<"transfer-encoding">>,
        <<"upgrade">>
    ].

answer(Status, Req) ->
    cowboy_req:reply(Status, #{<<"content-type">> => <<"text/plain">>}, <<>>, Req).
