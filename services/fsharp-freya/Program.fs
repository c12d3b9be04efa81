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

/// Freya leaves the status of a path that it does not know as it was, and matches path and query together, where no
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
                    // Freya writes its bodies so.
                    options.AllowSynchronousIO <- true
                    // The default, 100, has no room for Host beside 100 headers.
                    options.Limits.MaxRequestHeaderCount <- 200)
                .UseSockets(fun options -> options.IOQueueCount <- workers)
                .Configure(configure)
            |> ignore)
        .Build()
        .Run()

    0
