%% Relays an operation to the model, with its key in place of the client's.
-module(gateway_handler).
-behaviour(cowboy_handler).
-export([init/2]).

-define(LARGEST_BODY, 16777216).

init(Req0 = #{method := Method}, State = {Method, Path, Authorization}) ->
    Req =
        case read_body(Req0, []) of
            {ok, Body, Req1} -> relay(Method, target(Path, Req1), to_model(Authorization, Req1), Body, Req1);
            {too_large, Req1} -> refuse(413, <<"the body is too large">>, Req1)
        end,
    {ok, Req, State};
init(Req, State) ->
    {ok, refuse(405, <<"the operation has another method">>, Req), State}.

read_body(Req0, Pieces) ->
    case iolist_size(Pieces) =< ?LARGEST_BODY andalso cowboy_req:read_body(Req0) of
        false -> {too_large, Req0};
        {ok, Piece, Req} -> {ok, [Pieces, Piece], Req};
        {more, Piece, Req} -> read_body(Req, [Pieces, Piece])
    end.

relay(Method, Target, Headers, Body, Req) ->
    {_, Lent = {_, Connection}} = backend:take(),
    Handler = self(),
    Guard = spawn(fun() -> close_after(Handler, Lent) end),
    Monitor = monitor(process, Connection),
    Stream = gun:request(Connection, Method, Target, Headers, iolist_to_binary(Body), #{reply_to => Handler}),
    Answer = answer({Connection, Stream, Monitor}, Req),
    demonitor(Monitor, [flush]),
    %% The reply is complete.
    Guard ! {keep, Handler},
    backend:give(Lent),
    Answer.

%% Cowboy ends the process of a request whose client has left. An HTTP/1.1 request is cancelled by the end of its connection.
close_after(Handler, Lent) ->
    Monitor = monitor(process, Handler),
    receive
        {keep, Handler} -> ok;
        {'DOWN', Monitor, process, Handler, _} -> backend:close(Lent)
    end.

answer(Source = {Connection, Stream, Monitor}, Req) ->
    receive
        {gun_response, Connection, Stream, fin, Status, Headers} ->
            cowboy_req:reply(Status, from_model(Headers), Req);
        {gun_response, Connection, Stream, nofin, Status, Headers} ->
            pass_body(Source, cowboy_req:stream_reply(Status, from_model(Headers), Req));
        {'DOWN', Monitor, process, Connection, _} ->
            unreachable(Req);
        {gun_error, Connection, Stream, _} ->
            unreachable(Req);
        {gun_error, Connection, _} ->
            unreachable(Req)
    end.

pass_body(Source = {Connection, Stream, Monitor}, Req) ->
    receive
        {gun_data, Connection, Stream, nofin, Piece} ->
            cowboy_req:stream_body(Piece, nofin, Req),
            pass_body(Source, Req);
        {gun_data, Connection, Stream, fin, Piece} ->
            cowboy_req:stream_body(Piece, fin, Req),
            Req;
        {gun_trailers, Connection, Stream, _} ->
            cowboy_req:stream_body(<<>>, fin, Req),
            Req;
        {'DOWN', Monitor, process, Connection, _} ->
            break_off(Req);
        {gun_error, Connection, Stream, _} ->
            break_off(Req);
        {gun_error, Connection, _} ->
            break_off(Req)
    end.

unreachable(Req) ->
    refuse(502, <<"the model cannot be reached">>, Req),
    exit(normal).

%% Half a reply must not look like a whole one, and Cowboy would complete it when this process ends.
break_off(#{pid := Client}) ->
    exit(Client, kill),
    exit({shutdown, half_a_reply}).

target(Path, #{qs := <<>>}) -> Path;
target(Path, #{qs := Query}) -> [Path, $?, Query].

%% Gun adds its own Host and Content-Length.
to_model(Authorization, Req) ->
    Headers = maps:without([<<"host">>, <<"content-length">>], end_to_end(cowboy_req:headers(Req))),
    maps:to_list(Headers#{<<"authorization">> => Authorization}).

from_model(Headers) -> end_to_end(maps:from_list(Headers)).

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

refuse(Status, Message, Req) ->
    Body = [<<"{\"error\":{\"message\":\"">>, Message, <<"\",\"type\":\"gateway_error\"}}">>],
    cowboy_req:reply(Status, #{<<"content-type">> => <<"application/json">>}, Body, Req).
