module Service.Program

open System
open System.Net
open System.Threading.Tasks
open Freya.Core
open Microsoft.AspNetCore.Builder
open Microsoft.AspNetCore.Hosting
open Microsoft.AspNetCore.Http
open Microsoft.Extensions.DependencyInjection
open Microsoft.Extensions.Hosting

let private variable name otherwise =
    match Environment.GetEnvironmentVariable name with
    | null -> otherwise
    | value -> value

/// Freya does not set a status for an unknown path, and it matches path and query together, although no
/// operation has a query.
let private prepare (context: HttpContext) (next: Func<Task>) =
    context.Response.StatusCode <- StatusCodes.Status404NotFound
    context.Request.QueryString <- QueryString.Empty
    next.Invoke()

let private configure (app: IApplicationBuilder) =
    app
        .Use(Func<HttpContext, Func<Task>, Task>(prepare))
        .UseOwin(fun pipeline -> pipeline.Invoke(OwinMidFunc(fun _ -> OwinAppFunc.ofFreya Api.root)))
    |> ignore

[<EntryPoint>]
let main _ =
    let host = IPAddress.Parse(variable "HOST" "127.0.0.1")
    let port = int (variable "PORT" "8080")
    let workers = int (variable "WORKERS" (string Environment.ProcessorCount))

    HostBuilder()
        .ConfigureServices(fun services ->
            services.Configure<HostOptions>(fun (options: HostOptions) ->
                options.ShutdownTimeout <- TimeSpan.FromSeconds 5.0)
            |> ignore)
        .ConfigureWebHost(fun web ->
            web
                .UseKestrel(fun options ->
                    options.Listen(host, port)
                    // Freya writes its bodies synchronously.
                    options.AllowSynchronousIO <- true
                    // The default of 100 is too small for 100 headers and Host.
                    options.Limits.MaxRequestHeaderCount <- 200)
                .UseSockets(fun options -> options.IOQueueCount <- workers)
                .Configure(configure)
            |> ignore)
        .Build()
        .Run()

    0
