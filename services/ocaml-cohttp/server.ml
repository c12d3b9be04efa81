(* hello and sequence on Cohttp with Lwt. *)

open Cohttp_lwt_unix

let largest_n = 10_000

(* An integer from 0 to [largest_n]. *)
let parse text =
  let is_digit c = '0' <= c && c <= '9' in
  let length = String.length text in
  if length = 0 || length > 5 || not (String.for_all is_digit text) then None
  else
    let n = int_of_string ("0u" ^ text) in
    if n <= largest_n then Some n else None

let count n = String.concat " " (List.init n (fun i -> string_of_int (i + 1)))

(* F(0) to F(n). *)
let fib n =
  let rec numbers a b left =
    if left < 0 then [] else Z.to_string a :: numbers b (Z.add a b) (left - 1)
  in
  String.concat " " (numbers Z.zero Z.one n)

let text status body =
  let headers = Cohttp.Header.init_with "Content-Type" "text/plain" in
  Server.respond_string ~headers ~status ~body ()

let numbers compute n =
  match parse n with
  | Some n -> text `OK (compute n)
  | None -> text `Bad_request "n must be an integer from 0 to 10000"

let callback _connection request _body =
  let path = Uri.pct_decode (Uri.path (Request.uri request)) in
  match (Request.meth request, String.split_on_char '/' path) with
  | `GET, [ ""; "api"; "test" ] -> text `OK "Hello, World!"
  | `GET, [ ""; "api"; "count"; n ] -> numbers count n
  | `GET, [ ""; "api"; "fib"; n ] -> numbers fib n
  (* A reply to HEAD has no body, and Cohttp leaves that to the service. *)
  | `GET, _ -> text `Not_found "no such path"
  | _ -> Server.respond_string ~status:`Method_not_allowed ~body:"" ()

let setting name default = Option.value (Sys.getenv_opt name) ~default

let listen () =
  let address = Unix.inet_addr_of_string (setting "HOST" "127.0.0.1") in
  let socket = Unix.socket ~cloexec:true (Unix.domain_of_sockaddr (ADDR_INET (address, 0))) SOCK_STREAM 0 in
  Unix.setsockopt socket SO_REUSEADDR true;
  Unix.bind socket (ADDR_INET (address, int_of_string (setting "PORT" "8080")));
  (* Hundreds of connections may come at once. *)
  Unix.listen socket 4096;
  socket

let serve socket =
  let stop, stopper = Lwt.wait () in
  ignore (Lwt_unix.on_signal Sys.sigterm (fun _ -> Lwt.wakeup_later stopper ()));
  let mode = `TCP (`Socket (Lwt_unix.of_unix_file_descr socket)) in
  (* A client that disconnects is not logged. *)
  let on_exn _ = () in
  Lwt_main.run (Server.create ~stop ~on_exn ~mode (Server.make ~callback ()))

let () =
  Sys.set_signal Sys.sigpipe Signal_ignore;
  let socket = listen () in
  let workers = int_of_string (setting "WORKERS" "1") in
  if workers = 1 then serve socket
  else begin
    let children =
      List.init workers (fun _ ->
          match Unix.fork () with
          | 0 -> serve socket; exit 0
          | child -> child)
    in
    let stop _ = List.iter (fun child -> Unix.kill child Sys.sigterm) children in
    Sys.set_signal Sys.sigterm (Signal_handle stop);
    let rec wait child =
      try ignore (Unix.waitpid [] child) with Unix.Unix_error (EINTR, _, _) -> wait child
    in
    List.iter wait children
  end
