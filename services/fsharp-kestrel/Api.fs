module Service.Api

open System.Net
open System.Text.RegularExpressions
open System.Threading.Tasks
open Microsoft.AspNetCore.Http

let inline private joined numbers = numbers |> Seq.map string |> String.concat " "

/// The integers from 1 to n.
let private numbers n = seq { 1 .. n }

/// F(0) to F(n).
let private fibonacci n =
    Seq.unfold (fun (a, b) -> Some(a, (b, a + b))) (0I, 1I) |> Seq.truncate (n + 1)

let private snoop (headers: IHeaderDictionary) =
    let lines =
        seq {
            for header in headers do
                for value in header.Value do
                    let name = WebUtility.HtmlEncode(header.Key.ToLowerInvariant())
                    yield sprintf "HEADER: %s = %s\n" name (WebUtility.HtmlEncode value)
        }

    "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" + String.concat "" lines + "</pre>\n"

let private sequences =
    Regex(@"\A/api/(count|fib)/(10000|[0-9]{1,4})\z", RegexOptions.Compiled ||| RegexOptions.CultureInvariant)

let private (|Sequence|_|) path =
    let found = sequences.Match path

    if found.Success then
        Some(found.Groups.[1].Value, int found.Groups.[2].Value)
    else
        None

let private refuse (context: HttpContext) status =
    context.Response.StatusCode <- status
    Task.CompletedTask

/// Kestrel leaves the body out of an answer to HEAD.
let private send (context: HttpContext) contentType (body: string) =
    context.Response.ContentType <- contentType
    context.Response.ContentLength <- System.Nullable(int64 (System.Text.Encoding.UTF8.GetByteCount body))
    context.Response.WriteAsync body

let answer (context: HttpContext) =
    let read contentType body =
        let verb = context.Request.Method

        if HttpMethods.IsGet verb || HttpMethods.IsHead verb then
            send context contentType (body ())
        else
            refuse context StatusCodes.Status405MethodNotAllowed

    match context.Request.Path.Value with
    | "/api/test" -> read "text/plain" (fun () -> "Hello, World!")
    | "/" -> read "text/html; charset=utf-8" (fun () -> snoop context.Request.Headers)
    | Sequence("count", n) -> read "text/plain" (fun () -> joined (numbers n))
    | Sequence("fib", n) -> read "text/plain" (fun () -> joined (fibonacci n))
    | _ -> refuse context StatusCodes.Status404NotFound
