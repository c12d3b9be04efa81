module Service.Api

open System.Text.RegularExpressions
open Freya.Core
open Freya.Machines.Http
open Freya.Routers.Uri.Template

let inline private joined numbers = numbers |> Seq.map string |> String.concat " "

/// The integers from 1 to n.
let private numbers n = joined (seq { 1 .. n })

/// F(0) to F(n).
let private fibonacci n =
    Seq.unfold (fun (a, b) -> Some(a, (b, a + b))) (0I, 1I) |> Seq.truncate (n + 1) |> joined

/// The variable of the path, if it is an integer from 0 to 10,000.
let private length =
    freya {
        let! text = Freya.Optic.get (Route.atom_ "n")

        return
            match text with
            | Some text when Regex.IsMatch(text, @"\A(10000|[0-9]{1,4})\z") -> Some(int text)
            | _ -> None
    }

let private hello = freyaMachine { handleOk (Represent.text "Hello, World!") }

let private sequence (text: int -> string) =
    freyaMachine {
        exists (Freya.map Option.isSome length)
        handleOk (Freya.map (Option.get >> text >> Represent.text) length)
    }

let private router =
    freyaRouter {
        resource "/api/test" hello
        resource "/api/count/{n}" (sequence numbers)
        resource "/api/fib/{n}" (sequence fibonacci)
    }

let root = UriTemplateRouter.Freya router
