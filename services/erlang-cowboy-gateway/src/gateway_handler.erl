%% Relays an operation to the model, with its key in place of the client's.
-module(gateway_handler).
-behaviour(cowboy_handler).
-export([init/2]).

-define(LARGEST_BODY, 16777216).

init(Req0 = #{method := Method}, State = {Method, Path, Authorization}) ->
    %% A client that leaves is a signal, upon which the stream is cancelled.
    process_flag(trap_exit, true),
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
    Monitor = monitor(process, Connection),
    Stream = gun:request(Connection, Method, Target, Headers, iolist_to_binary(Body), #{reply_to => self()}),
    Answer = answer(Lent, Stream, Monitor, Req),
    demonitor(Monitor, [flush]),
    Answer.

answer(Lent = {_, Connection}, Stream, Monitor, Req) ->
    receive
        {gun_response, Connection, Stream, fin, Status, Headers} ->
            backend:give(Lent),
            cowboy_req:reply(Status, from_model(Headers), Req);
        {gun_response, Connection, Stream, nofin, Status, Headers} ->
            pass_body(Lent, Stream, Monitor, cowboy_req:stream_reply(Status, from_model(Headers), Req));
        {'EXIT', _, Reason} ->
            cancel(Lent, Reason);
        {'DOWN', Monitor, process, Connection, _} ->
            refuse(502, <<"the model cannot be reached">>, Req);
        {gun_error, Connection, Stream, _} ->
            backend:close(Lent),
            refuse(502, <<"the model cannot be reached">>, Req);
        {gun_error, Connection, _} ->
            backend:close(Lent),
            refuse(502, <<"the model cannot be reached">>, Req)
    end.

pass_body(Lent = {_, Connection}, Stream, Monitor, Req) ->
    receive
        {gun_data, Connection, Stream, nofin, Piece} ->
            cowboy_req:stream_body(Piece, nofin, Req),
            pass_body(Lent, Stream, Monitor, Req);
        {gun_data, Connection, Stream, fin, Piece} ->
            cowboy_req:stream_body(Piece, fin, Req),
            backend:give(Lent),
            Req;
        {gun_trailers, Connection, Stream, _} ->
            cowboy_req:stream_body(<<>>, fin, Req),
            backend:give(Lent),
            Req;
        {'EXIT', _, Reason} ->
            cancel(Lent, Reason);
        {'DOWN', Monitor, process, Connection, _} ->
            break_off(Lent, Req);
        {gun_error, Connection, Stream, _} ->
            break_off(Lent, Req);
        {gun_error, Connection, _} ->
            break_off(Lent, Req)
    end.

%% Half a reply must not look like a whole one, and Cowboy would complete it when this process ends.
break_off(Lent, #{pid := Client}) ->
    exit(Client, kill),
    cancel(Lent, {shutdown, half_a_reply}).

%% An HTTP/1.1 request is cancelled by the end of its connection.
cancel(Lent, Reason) ->
    backend:close(Lent),
    exit(Reason).

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
